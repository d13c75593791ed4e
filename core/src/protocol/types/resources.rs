//! Resources, templates, their contents, and the messages about them.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::binary::{self, Base64Error};
use super::blocks::Annotations;
use super::invalid::InvalidValue;
use super::members::{Members, Meta};
use super::object::object;
use super::project::Project;
use super::read::{Name, Next, Source};
use crate::protocol::Revision;

object! {
    /// Something a client can read (SCH-T10).
    pub struct Resource {
        required {
            /// The URI that names it, as given (SCH-10, RES-14).
            "uri" => uri: String,
            /// Its name.
            "name" => name: String,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
            /// What it is, for the model.
            "description" => description, with_description: opt String;
            /// Its media type.
            "mimeType" => mime_type, with_mime_type: opt String;
            /// Its size in bytes, before base64.
            "size" => size, with_size: opt u64;
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
}

object! {
    /// A family of resources under one URI template (SCH-T11).
    pub struct ResourceTemplate {
        required {
            /// The template (RFC 6570), as given (SCH-10).
            "uriTemplate" => uri_template: String,
            /// Its name.
            "name" => name: String,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
            /// What it is for, for the model.
            "description" => description, with_description: opt String;
            /// The media type, if all its resources have the same one (TMPL-02).
            "mimeType" => mime_type, with_mime_type: opt String;
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
}

object! {
    /// Contents that are text (SCH-T12).
    pub struct TextResourceContents {
        required {
            /// The URI they belong to, as given.
            "uri" => uri: String,
            /// The text.
            "text" => text: String,
        }
        optional {
            /// Their media type.
            "mimeType" => mime_type, with_mime_type: opt String;
        }
    }
}

object! {
    /// Contents that are bytes (SCH-T12).
    pub struct BlobResourceContents {
        required {
            /// The URI they belong to, as given.
            "uri" => uri: String,
            /// The bytes as base64; see [`bytes`](BlobResourceContents::bytes).
            "blob" => blob: String,
        }
        optional {
            /// Their media type.
            "mimeType" => mime_type, with_mime_type: opt String;
        }
    }
}

impl BlobResourceContents {
    /// Contents from bytes; written as padded standard base64 (RES-04).
    pub fn from_bytes(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> BlobResourceContents {
        BlobResourceContents::new(uri, binary::encode(bytes.as_ref()))
    }

    /// The bytes. Fails if `blob` is not base64 (SCH-08); missing padding is forgiven (RES-04).
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        binary::decode(&self.blob)
    }
}

/// The contents of a resource: text if `text` is there, else bytes (SCH-07).
///
/// Both at once, which nobody may send, is read as text; neither is an error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

impl ResourceContents {
    /// Contents that are text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> ResourceContents {
        ResourceContents::Text(TextResourceContents::new(uri, text))
    }

    /// Contents that are bytes.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> ResourceContents {
        ResourceContents::Blob(BlobResourceContents::from_bytes(uri, bytes))
    }

    /// The same contents with a media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> ResourceContents {
        *self.mime_type_mut() = Some(mime_type.into());
        self
    }

    /// The URI they belong to: that of a sub-resource at times (RES-15).
    pub fn uri(&self) -> &str {
        match self {
            ResourceContents::Text(contents) => &contents.uri,
            ResourceContents::Blob(contents) => &contents.uri,
        }
    }

    /// Their media type, if given.
    pub fn mime_type(&self) -> Option<&str> {
        match self {
            ResourceContents::Text(contents) => contents.mime_type.as_deref(),
            ResourceContents::Blob(contents) => contents.mime_type.as_deref(),
        }
    }

    /// The text, if they are text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ResourceContents::Text(contents) => Some(&contents.text),
            ResourceContents::Blob(_) => None,
        }
    }

    /// The bytes: decoded, or those of the text. Fails if `blob` is not base64 (SCH-08).
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        match self {
            ResourceContents::Text(contents) => Ok(contents.text.clone().into_bytes()),
            ResourceContents::Blob(contents) => contents.bytes(),
        }
    }

    pub(crate) fn mime_type_mut(&mut self) -> &mut Option<String> {
        match self {
            ResourceContents::Text(contents) => &mut contents.mime_type,
            ResourceContents::Blob(contents) => &mut contents.mime_type,
        }
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> ResourceContents {
        ResourceContents::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> ResourceContents {
        ResourceContents::Blob(contents)
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ResourceContents::Text(contents) => contents.serialize(serializer),
            ResourceContents::Blob(contents) => contents.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ResourceContents, D::Error> {
        deserializer.deserialize_map(ContentsVisitor)
    }
}

/// There is no tag: all members of both types are read, then their presence decides.
struct ContentsVisitor;

impl<'de> Visitor<'de> for ContentsVisitor {
    type Value = ResourceContents;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object (resource contents)")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceContents, A::Error> {
        let mut uri: Option<String> = None;
        let mut mime_type: Option<String> = None;
        let mut text: Option<String> = None;
        let mut blob: Option<String> = None;
        let mut extra = Members::new();
        while let Some(Name(name)) = map.next_key()? {
            let value = Next(&mut map);
            match &*name {
                "uri" => uri = Some(value.read_member("uri")?),
                "mimeType" => mime_type = value.read_member("mimeType")?,
                "text" => text = value.read_member("text")?,
                "blob" => blob = value.read_member("blob")?,
                _ => {
                    let value = value.read_member(&name)?;
                    extra.push(name.into_owned(), value);
                }
            }
        }
        let missing = |member| de::Error::custom(format_args!("member {member} is missing (resource contents)"));
        let uri = uri.ok_or_else(|| missing("`uri`"))?;
        match (text, blob) {
            (Some(text), _) => {
                let mut contents = TextResourceContents::new(uri, text);
                contents.mime_type = mime_type;
                contents.extra = extra;
                Ok(ResourceContents::Text(contents))
            }
            (None, Some(blob)) => {
                let mut contents = BlobResourceContents::new(uri, blob);
                contents.mime_type = mime_type;
                contents.extra = extra;
                Ok(ResourceContents::Blob(contents))
            }
            (None, None) => Err(missing("`text` or `blob`")),
        }
    }
}

impl Project for ResourceContents {
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        match self {
            ResourceContents::Text(contents) => contents.project(revision),
            ResourceContents::Blob(contents) => contents.project(revision),
        }
    }
}

object! {
    /// The result of `resources/list` (SCH-T29).
    pub struct ListResourcesResult {
        required {
            /// This page's resources.
            "resources" => resources: Vec<Resource>,
        }
        optional {
            /// Where the next page starts; the empty string is a cursor too (PAGE-06).
            "nextCursor" => next_cursor, with_next_cursor: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The result of `resources/templates/list` (SCH-T29).
    pub struct ListResourceTemplatesResult {
        required {
            /// This page's templates.
            "resourceTemplates" => resource_templates: Vec<ResourceTemplate>,
        }
        optional {
            /// Where the next page starts; the empty string is a cursor too (PAGE-06).
            "nextCursor" => next_cursor, with_next_cursor: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `resources/read` (RES-03).
    pub struct ReadResourceRequest {
        required {
            /// What to read.
            "uri" => uri: String,
        }
        optional {
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The result of `resources/read` (SCH-T30).
    pub struct ReadResourceResult {
        required {
            /// The contents: several, with URIs of their own, if the resource has parts (RES-15).
            "contents" => contents: Vec<ResourceContents>,
        }
        optional {
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `resources/subscribe` (SUB-02).
    pub struct SubscribeRequest {
        required {
            /// The resource to be told about.
            "uri" => uri: String,
        }
        optional {
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `resources/unsubscribe` (SUB-03).
    pub struct UnsubscribeRequest {
        required {
            /// The resource not to be told about any more.
            "uri" => uri: String,
        }
        optional {
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}
