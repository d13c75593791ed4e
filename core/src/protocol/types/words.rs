//! Enums whose values are fixed words on the wire.

/// Defines an enum of words: `as_str`, `FromStr`, `Display`, and reading and writing as a JSON string. Other words are
/// refused with a message that lists those allowed.
macro_rules! words {
    (
        $(#[$doc:meta])*
        pub enum $Enum:ident { $($(#[$variant_doc:meta])* $word:literal => $Variant:ident),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $Enum {
            $($(#[$variant_doc])* $Variant,)*
        }

        impl $Enum {
            /// Every value, in order.
            pub const ALL: &'static [$Enum] = &[$($Enum::$Variant),*];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $($Enum::$Variant => $word,)* }
            }
        }

        impl std::str::FromStr for $Enum {
            type Err = $crate::protocol::types::invalid::InvalidValue;

            /// Reads the word exactly as it is on the wire, case included.
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok($Enum::$Variant),)*
                    _ => {
                        // Peer-supplied text in a message stays short.
                        let shown: String = word.chars().take(40).collect();
                        Err($crate::protocol::types::invalid::InvalidValue::new(format!(
                            "{shown:?} is none of {}",
                            [$($word),*].join(", ")
                        )))
                    }
                }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $Enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let $crate::protocol::types::read::Name(word) = serde::Deserialize::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }

        impl $crate::protocol::types::project::Project for $Enum {}
    };
}

pub(crate) use words;
