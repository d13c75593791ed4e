//! One table per wire object: the macro `object!` turns it into the struct, its reading, writing and projection.
//!
//! Reading is written out instead of derived because the rules differ from serde's: objects only, never arrays; an
//! explicit null counts as absent (SCH-03); unknown members are kept (SCH-01) without the buffering that
//! `#[serde(flatten)]` brings; and an error names the member.

/// Defines wire objects from tables.
///
/// ```text
/// object! {
///     /// Documentation.
///     pub struct Name tag "value" {            // tag: the member `type`, always written
///         required {
///             "wire" => field: Type,           // an argument of `new`; explicit null is a value only for `Json`
///             "wire" => field: Type lax flag,  // always written, but absent on receipt = default, and `flag` tells
///         }
///         optional {
///             "wire" => field, with_field: kind Type [since Revision] [check function],
///         }
///     }
///     [open;]                                  // unknown members are sent in every revision
///     [adapt;]                                 // `Adapt::adapt` runs before projection
/// }
/// ```
/// Kinds of optional members: `opt` (`Option`, null = absent), `nullable` (`Option`, null is a value), `list` (a
/// collection, absent = empty, empty is not written), `flag` (`bool`, absent = false, false is not written). Without the
/// `with_field` name there is no setter. A member with `since` is taken out for older revisions.
macro_rules! object {
    (
        $(#[$doc:meta])*
        pub struct $Object:ident $(tag $tag:literal)? {
            required {
                $(
                    $(#[$req_doc:meta])*
                    $req_wire:literal => $req:ident : $Req:ident $(<$($ReqArg:ty),+>)? $(lax $lax:ident)? $(check $req_check:ident)?
                ),* $(,)?
            }
            optional {
                $(
                    $(#[$opt_doc:meta])*
                    $opt_wire:literal => $opt:ident $(, $with:ident)? : $kind:ident $Opt:ident $(<$($OptArg:ty),+>)?
                        $(since $since:ident)? $(check $opt_check:ident)?
                );* $(;)?
            }
        }
        $(open $open:tt)?
        $(adapt $adapt:tt)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $Object {
            $(
                $(#[$req_doc])*
                pub $req: $Req $(<$($ReqArg),+>)?,
                $(
                    #[doc = concat!("Whether the peer left out `", $req_wire, "`, which it must not; read as empty then.")]
                    pub $lax: bool,
                )?
            )*
            $(
                $(#[$opt_doc])*
                pub $opt: object!(@field $kind $Opt $(<$($OptArg),+>)?),
            )*
            /// Members that this type does not know by name, kept as received (SCH-01).
            pub extra: $crate::protocol::types::members::Members,
        }

        impl $Object {
            /// Makes one from the required members; optional ones are set with `with_…`.
            #[allow(clippy::new_without_default, reason = "where nothing is required, Default is derived by hand below")]
            pub fn new($($req: object!(@argument $Req $(<$($ReqArg),+>)?)),*) -> Self {
                Self {
                    $(
                        $req: object!(@convert $Req $req),
                        $($lax: false,)?
                    )*
                    $($opt: Default::default(),)*
                    extra: $crate::protocol::types::members::Members::new(),
                }
            }

            $(object!(@setter [$($with)?] $opt_wire $opt $kind [$Opt $(<$($OptArg),+>)?]);)*
        }

        const _: () = {
            use $crate::protocol::types::read::{Object, ObjectVisitor, Parts, Source};
            use $crate::protocol::types::members::Members;

            #[derive(Default)]
            pub(crate) struct PartsOf {
                $($req: Option<$Req $(<$($ReqArg),+>)?>,)*
                $($opt: Option<$Opt $(<$($OptArg),+>)?>,)*
                extra: Members,
            }

            impl Object for $Object {
                type Parts = PartsOf;
                const NAME: &'static str = stringify!($Object);
                const TAG: Option<&'static str> = object!(@tag $($tag)?);
            }

            impl Parts for PartsOf {
                type Object = $Object;

                fn member<'de, S: Source<'de>>(
                    &mut self,
                    name: std::borrow::Cow<'de, str>,
                    value: S,
                ) -> Result<(), S::Error> {
                    match &*name {
                        $($req_wire => {
                            self.$req = object!(@read_required value $req_wire $($lax)?);
                            $(object!(@check $req_check self.$req, $req_wire, S);)?
                        })*
                        $($opt_wire => {
                            self.$opt = object!(@read_optional $kind value $opt_wire);
                            $(object!(@check $opt_check self.$opt, $opt_wire, S);)?
                        })*
                        _ => {
                            let value = value.read_member(&name)?;
                            self.extra.push(name.into_owned(), value);
                        }
                    }
                    Ok(())
                }

                fn finish<E: serde::de::Error>(self) -> Result<$Object, E> {
                    Ok($Object {
                        $(
                            $($lax: self.$req.is_none(),)?
                            $req: object!(@take_required self $Object $req $req_wire $($lax)?),
                        )*
                        $($opt: object!(@take_optional $kind self.$opt),)*
                        extra: self.extra,
                    })
                }
            }

            impl<'de> serde::Deserialize<'de> for $Object {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_map(ObjectVisitor(std::marker::PhantomData))
                }
            }

            impl serde::Serialize for $Object {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    use serde::ser::SerializeMap;
                    let mut map = serializer.serialize_map(None)?;
                    if let Some(tag) = <Self as Object>::TAG {
                        map.serialize_entry("type", tag)?;
                    }
                    $(map.serialize_entry($req_wire, &self.$req)?;)*
                    $(object!(@write $kind map $opt_wire self.$opt);)*
                    for (name, value) in self.extra.iter() {
                        // A member known by name is written from its field, once.
                        if !matches!(name, $($req_wire |)* $($opt_wire |)* "") || name.is_empty() {
                            map.serialize_entry(name, value)?;
                        }
                    }
                    map.end()
                }
            }

            impl $crate::protocol::types::project::Project for $Object {
                fn project(
                    &mut self,
                    revision: $crate::protocol::Revision,
                ) -> Result<(), $crate::protocol::types::invalid::InvalidValue> {
                    use $crate::protocol::types::project::keeps_unknown;
                    $($crate::protocol::types::project::Adapt::adapt(self, revision)? $adapt)?
                    $(self.$req.project(revision).map_err(|error| error.within($req_wire))?;)*
                    $(
                        $(if revision < $crate::protocol::Revision::$since {
                            self.$opt = Default::default();
                        })?
                        self.$opt.project(revision).map_err(|error| error.within($opt_wire))?;
                    )*
                    if !(keeps_unknown(revision) || object!(@is_open $($open)?)) {
                        self.extra.clear();
                    }
                    Ok(())
                }
            }
        };
    };

    (@field opt $($T:tt)+) => { Option<$($T)+> };
    (@field nullable $($T:tt)+) => { Option<$($T)+> };
    (@field list $($T:tt)+) => { $($T)+ };
    (@field flag $($T:tt)+) => { $($T)+ };

    (@argument bool) => { bool };
    (@argument u64) => { u64 };
    (@argument f64) => { f64 };
    (@argument $($T:tt)+) => { impl Into<$($T)+> };

    (@convert bool $value:ident) => { $value };
    (@convert u64 $value:ident) => { $value };
    (@convert f64 $value:ident) => { $value };
    (@convert $T:ident $value:ident) => { $value.into() };

    (@wrap opt $value:expr) => { Some($value) };
    (@wrap nullable $value:expr) => { Some($value) };
    (@wrap list $value:expr) => { $value };
    (@wrap flag $value:expr) => { $value };

    (@setter [] $($rest:tt)*) => {};
    (@setter [$with:ident] $wire:literal $field:ident $kind:ident [$T:ident $($Args:tt)*]) => {
        #[doc = concat!("Sets `", $wire, "`.")]
        #[must_use]
        pub fn $with(mut self, $field: object!(@argument $T $($Args)*)) -> Self {
            self.$field = object!(@wrap $kind object!(@convert $T $field));
            self
        }
    };

    (@tag) => { None };
    (@tag $tag:literal) => { Some($tag) };

    (@is_open) => { false };
    (@is_open ;) => { true };

    (@read_required $value:ident $wire:literal) => { Some($value.read_member($wire)?) };
    (@read_required $value:ident $wire:literal $lax:ident) => { $value.read_member($wire)? };

    (@read_optional nullable $value:ident $wire:literal) => { Some($value.read_member($wire)?) };
    (@read_optional $kind:ident $value:ident $wire:literal) => { $value.read_member($wire)? };

    (@check $check:ident $slot:expr, $wire:literal, $S:ident) => {
        if let Some(value) = &$slot {
            $check(value).map_err(|reason| {
                <$S::Error as serde::de::Error>::custom(format_args!("`{}` {reason}", $wire))
            })?;
        }
    };

    (@take_required $parts:ident $Object:ident $req:ident $wire:literal) => {
        $parts.$req.ok_or_else(|| <$Object as Object>::missing::<E>($wire))?
    };
    (@take_required $parts:ident $Object:ident $req:ident $wire:literal $lax:ident) => {
        $parts.$req.unwrap_or_default()
    };

    (@take_optional opt $slot:expr) => { $slot };
    (@take_optional nullable $slot:expr) => { $slot };
    (@take_optional list $slot:expr) => { $slot.unwrap_or_default() };
    (@take_optional flag $slot:expr) => { $slot.unwrap_or_default() };

    (@write opt $map:ident $wire:literal $slot:expr) => {
        if let Some(value) = &$slot {
            $map.serialize_entry($wire, value)?;
        }
    };
    (@write nullable $map:ident $wire:literal $slot:expr) => { object!(@write opt $map $wire $slot) };
    (@write list $map:ident $wire:literal $slot:expr) => {
        if !$slot.is_empty() {
            $map.serialize_entry($wire, &$slot)?;
        }
    };
    (@write flag $map:ident $wire:literal $slot:expr) => {
        if $slot {
            $map.serialize_entry($wire, &true)?;
        }
    };
}

pub(crate) use object;
