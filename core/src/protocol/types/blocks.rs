//! The kinds of content blocks, and what they share: roles and annotations.

use super::binary::{self, Base64Error, check_mime_type};
use super::invalid::{InvalidValue, check_priority};
use super::object::object;
use super::project::Adapt;
use super::resources::ResourceContents;
use super::words::words;
use crate::protocol::Revision;

words! {
    /// Who speaks, or for whom something is meant (SCH-T06). Other roles are refused (PROM-07).
    pub enum Role {
        /// The person, and what acts in their name.
        "user" => User,
        /// The model.
        "assistant" => Assistant,
    }
}

object! {
    /// Hints on a resource, a template or a content block: whom it is for and how much it matters (SCH-05).
    #[derive(Default)]
    pub struct Annotations {
        required {}
        optional {
            /// Whom it is meant for; empty if not said.
            "audience" => audience, with_audience: list Vec<Role>;
            /// How much it matters, from 0 (not at all) to 1 (required). A received value is kept even out of range.
            "priority" => priority: opt f64;
        }
    }
    adapt;
}

impl Annotations {
    /// Sets `priority`. Fails unless it is a number from 0 to 1 (SCH-05).
    pub fn with_priority(mut self, priority: f64) -> Result<Annotations, InvalidValue> {
        check_priority("priority", priority)?;
        self.priority = Some(priority);
        Ok(self)
    }
}

impl Adapt for Annotations {
    /// A priority received out of range does not travel on so (SCH-05).
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        self.priority = self.priority.filter(|priority| !priority.is_nan()).map(|priority| priority.clamp(0.0, 1.0));
        Ok(())
    }
}

object! {
    /// Text (SCH-T16).
    pub struct TextContent tag "text" {
        required {
            /// The text.
            "text" => text: String,
        }
        optional {
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
}

object! {
    /// A picture (SCH-T17).
    pub struct ImageContent tag "image" {
        required {
            /// The picture's bytes as base64; see [`bytes`](ImageContent::bytes).
            "data" => data: String,
            /// Its media type, such as `image/png`.
            "mimeType" => mime_type: String,
        }
        optional {
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
    adapt;
}

impl ImageContent {
    /// A picture from its bytes. Fails if the media type is empty or malformed (PROM-08).
    pub fn from_bytes(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Result<ImageContent, InvalidValue> {
        let mime_type = mime_type.into();
        check_mime_type(&mime_type)?;
        Ok(ImageContent::new(binary::encode(bytes.as_ref()), mime_type))
    }

    /// The picture's bytes. Fails if `data` is not base64 (SCH-08).
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        binary::decode(&self.data)
    }
}

impl Adapt for ImageContent {
    /// However it was built, it is not sent with a malformed media type (PROM-08).
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        check_mime_type(&self.mime_type)
    }
}

object! {
    /// Sound. Not part of 2024-11-05, where it is put as a line of text (TOOL-16).
    pub struct AudioContent tag "audio" {
        required {
            /// The sound's bytes as base64; see [`bytes`](AudioContent::bytes).
            "data" => data: String,
            /// Its media type, such as `audio/wav`.
            "mimeType" => mime_type: String,
        }
        optional {
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
    adapt;
}

impl AudioContent {
    /// Sound from its bytes. Fails if the media type is empty or malformed.
    pub fn from_bytes(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Result<AudioContent, InvalidValue> {
        let mime_type = mime_type.into();
        check_mime_type(&mime_type)?;
        Ok(AudioContent::new(binary::encode(bytes.as_ref()), mime_type))
    }

    /// The sound's bytes. Fails if `data` is not base64 (SCH-08).
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        binary::decode(&self.data)
    }
}

impl Adapt for AudioContent {
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        check_mime_type(&self.mime_type)
    }
}

object! {
    /// The contents of a resource inside a message (SCH-T18).
    ///
    /// Sent with a media type always: `text/plain` or `application/octet-stream` if none is set (PROM-09).
    pub struct EmbeddedResource tag "resource" {
        required {
            /// The contents.
            "resource" => resource: ResourceContents,
        }
        optional {
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
    adapt;
}

impl Adapt for EmbeddedResource {
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        let default = match self.resource {
            ResourceContents::Text(_) => "text/plain",
            ResourceContents::Blob(_) => "application/octet-stream",
        };
        self.resource.mime_type_mut().get_or_insert_with(|| default.to_owned());
        Ok(())
    }
}

object! {
    /// A pointer to a resource. Not part of 2024-11-05, where it is put as a line of text (TOOL-16).
    pub struct ResourceLink tag "resource_link" {
        required {
            /// The resource's URI, as given (SCH-10).
            "uri" => uri: String,
            /// Its name.
            "name" => name: String,
        }
        optional {
            /// A name for people.
            "title" => title, with_title: opt String;
            /// What it is, for the model.
            "description" => description, with_description: opt String;
            /// Its media type.
            "mimeType" => mime_type, with_mime_type: opt String;
            /// Its size in bytes.
            "size" => size, with_size: opt u64;
            /// Hints for the client.
            "annotations" => annotations, with_annotations: opt Annotations;
        }
    }
}

object! {
    /// A block of a kind that this library does not know: all its members are in `extra` (TOOL-17, FC-049).
    pub struct UnknownContent {
        required {
            /// The value of `type`.
            "type" => kind: String,
        }
        optional {}
    }
}
