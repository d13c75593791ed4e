//! How wire objects are read: from objects only, member by member, with errors that name the member.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::json::Json;

/// The name of a member, borrowed from the input where possible.
pub(crate) struct Name<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E: de::Error>(self, name: String) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name)))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

/// Where the value of a member comes from: the message being read, or a member set aside before its type was known.
pub(crate) trait Source<'de>: Sized {
    type Error: de::Error;

    fn read<T: Deserialize<'de>>(self) -> Result<T, Self::Error>;

    /// Reads the value of the member `name`, and says so if it fails.
    fn read_member<T: Deserialize<'de>>(self, name: &str) -> Result<T, Self::Error> {
        self.read().map_err(|error| de::Error::custom(format_args!("`{name}`: {error}")))
    }
}

/// The value that follows in the message.
pub(crate) struct Next<'a, A>(pub(crate) &'a mut A);

impl<'de, A: MapAccess<'de>> Source<'de> for Next<'_, A> {
    type Error = A::Error;

    fn read<T: Deserialize<'de>>(self) -> Result<T, A::Error> {
        self.0.next_value()
    }
}

/// A value set aside as its text.
pub(crate) struct Stored<'a, E>(pub(crate) &'a Json, pub(crate) PhantomData<E>);

impl<'a, E: de::Error> Source<'a> for Stored<'a, E> {
    type Error = E;

    fn read<T: Deserialize<'a>>(self) -> Result<T, E> {
        serde_json::from_str(self.0.get()).map_err(de::Error::custom)
    }
}

/// An object under construction: what has been read of its members so far.
pub(crate) trait Parts: Default {
    type Object;

    /// Reads one member. Of two members of the same name the last one counts.
    fn member<'de, S: Source<'de>>(&mut self, name: Cow<'de, str>, value: S) -> Result<(), S::Error>;

    /// The object, or an error that names the missing member.
    fn finish<E: de::Error>(self) -> Result<Self::Object, E>;
}

/// A wire object made by [`object!`](super::object).
pub(crate) trait Object: Sized {
    type Parts: Parts<Object = Self>;

    /// The type's name, for messages.
    const NAME: &'static str;

    /// What the member `type` must hold, for objects that have one.
    const TAG: Option<&'static str>;

    /// The error for a required member that is not there.
    fn missing<E: de::Error>(member: &str) -> E {
        E::custom(format_args!("member `{member}` is missing ({})", Self::NAME))
    }
}

/// Reads a `T` from a JSON object and from nothing else.
pub(crate) struct ObjectVisitor<T>(pub(crate) PhantomData<T>);

impl<'de, T: Object> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object ({})", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut parts = T::Parts::default();
        let mut tagged = false;
        while let Some(Name(name)) = map.next_key()? {
            match T::TAG {
                Some(tag) if name == "type" => {
                    let Name(found) = Next(&mut map).read_member("type")?;
                    if found != tag {
                        return Err(de::Error::custom(format_args!("`type` must be \"{tag}\" here, not {found:?}")));
                    }
                    tagged = true;
                }
                _ => parts.member(name, Next(&mut map))?,
            }
        }
        if T::TAG.is_some() && !tagged {
            return Err(T::missing("type"));
        }
        parts.finish()
    }
}

/// An enum of objects that are told apart by their member `type`, wherever in the object that stands.
pub(crate) trait Tagged: Sized {
    /// What is expected, for messages.
    const EXPECTED: &'static str;

    /// Picks the type by `tag` and reads its members: those that came before `type`, then the rest.
    fn assemble<'de, A: MapAccess<'de>>(tag: &str, early: Early, map: A) -> Result<Self, A::Error>;
}

/// Members that came before their object's `type`.
pub(crate) type Early = Vec<(String, Json)>;

/// Reads a [`Tagged`].
pub(crate) struct TaggedVisitor<T>(pub(crate) PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut early = Early::new();
        while let Some(Name(name)) = map.next_key()? {
            let value = Next(&mut map);
            if name == "type" {
                let Name(tag) = value.read_member("type")?;
                return T::assemble(&tag, early, map);
            }
            let value = value.read_member(&name)?;
            early.push((name.into_owned(), value));
        }
        Err(de::Error::custom(format_args!("member `type` is missing ({})", T::EXPECTED)))
    }
}

/// Reads the object whose `type` is known by now.
pub(crate) fn read_rest<'de, T: Object, A: MapAccess<'de>>(early: &Early, mut map: A) -> Result<T, A::Error> {
    let mut parts = T::Parts::default();
    for (name, value) in early {
        parts.member(Cow::Borrowed(name), Stored(value, PhantomData))?;
    }
    while let Some(Name(name)) = map.next_key()? {
        if name == "type" {
            map.next_value::<de::IgnoredAny>()?;
        } else {
            parts.member(name, Next(&mut map))?;
        }
    }
    parts.finish()
}
