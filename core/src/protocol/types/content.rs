//! Content blocks of tool results, prompt messages and sampling messages, told by their `type`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::MapAccess;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::binary;
use super::blocks::{
    Annotations, AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, UnknownContent,
};
use super::invalid::InvalidValue;
use super::json::Json;
use super::project::{Project, keeps_unknown};
use super::read::{Early, Tagged, TaggedVisitor, read_rest};
use super::resources::ResourceContents;
use crate::protocol::Revision;

/// A content block, told by its member `type` (SCH-07).
///
/// Sampling messages hold text and images only (SAMP-03).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// `text`.
    Text(TextContent),
    /// `image`.
    Image(ImageContent),
    /// `audio`, from 2025-03-26 on.
    Audio(AudioContent),
    /// `resource`: embedded contents.
    Resource(EmbeddedResource),
    /// `resource_link`, from 2025-06-18 on.
    ResourceLink(Box<ResourceLink>),
    /// Any other kind, kept as received. One such block does not void the message (TOOL-17).
    Unknown(UnknownContent),
}

impl Content {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text(TextContent::new(text))
    }

    /// A picture from its bytes. Fails if the media type is empty or malformed (PROM-08).
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Result<Content, InvalidValue> {
        ImageContent::from_bytes(bytes, mime_type).map(Content::Image)
    }

    /// Sound from its bytes. Fails if the media type is empty or malformed.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Result<Content, InvalidValue> {
        AudioContent::from_bytes(bytes, mime_type).map(Content::Audio)
    }

    /// The contents of a resource.
    pub fn resource(contents: impl Into<ResourceContents>) -> Content {
        Content::Resource(EmbeddedResource::new(contents))
    }

    /// The value of `type`.
    pub fn kind(&self) -> &str {
        match self {
            Content::Text(_) => "text",
            Content::Image(_) => "image",
            Content::Audio(_) => "audio",
            Content::Resource(_) => "resource",
            Content::ResourceLink(_) => "resource_link",
            Content::Unknown(block) => &block.kind,
        }
    }

    /// The text of a text block; `None` for other kinds.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(block) => Some(&block.text),
            _ => None,
        }
    }

    /// Whether a sampling message of this revision may hold the block (SAMP-03, SAMP-14).
    pub(crate) fn check_in_sampling(&self, revision: Revision) -> Result<(), InvalidValue> {
        let allowed = match self {
            Content::Text(_) | Content::Image(_) => true,
            Content::Audio(_) => revision >= Revision::V2025_03_26,
            Content::Resource(_) | Content::ResourceLink(_) => false,
            Content::Unknown(_) => keeps_unknown(revision),
        };
        if allowed {
            return Ok(());
        }
        Err(InvalidValue::new(format!("a sampling message holds text or an image, not {:?}", self.kind()))
            .within("content"))
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Content::text(text)
    }
}

impl From<TextContent> for Content {
    fn from(block: TextContent) -> Content {
        Content::Text(block)
    }
}

impl From<ImageContent> for Content {
    fn from(block: ImageContent) -> Content {
        Content::Image(block)
    }
}

impl From<AudioContent> for Content {
    fn from(block: AudioContent) -> Content {
        Content::Audio(block)
    }
}

impl From<EmbeddedResource> for Content {
    fn from(block: EmbeddedResource) -> Content {
        Content::Resource(block)
    }
}

impl From<ResourceLink> for Content {
    fn from(block: ResourceLink) -> Content {
        Content::ResourceLink(Box::new(block))
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Content::Text(block) => block.serialize(serializer),
            Content::Image(block) => block.serialize(serializer),
            Content::Audio(block) => block.serialize(serializer),
            Content::Resource(block) => block.serialize(serializer),
            Content::ResourceLink(block) => block.serialize(serializer),
            Content::Unknown(block) => block.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        deserializer.deserialize_map(TaggedVisitor(PhantomData))
    }
}

impl Tagged for Content {
    const EXPECTED: &'static str = "a content block";

    fn assemble<'de, A: MapAccess<'de>>(tag: &str, mut early: Early, map: A) -> Result<Content, A::Error> {
        match tag {
            "text" => read_rest(&early, map).map(Content::Text),
            "image" => read_rest(&early, map).map(Content::Image),
            "audio" => read_rest(&early, map).map(Content::Audio),
            "resource" => read_rest(&early, map).map(Content::Resource),
            "resource_link" => read_rest(&early, map).map(|link| Content::ResourceLink(Box::new(link))),
            _ => {
                early.push(("type".to_owned(), Json::from(serde_json::Value::from(tag))));
                read_rest(&early, map).map(Content::Unknown)
            }
        }
    }
}

impl Project for Content {
    /// Sound and links become a line of text where the revision does not have them; blocks of an unknown kind are
    /// refused in 2024-11-05 (TOOL-16, PROM-14).
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        match self {
            Content::Audio(audio) if revision < Revision::V2025_03_26 => {
                let line = format!("[audio {}, {} bytes]", audio.mime_type, binary::decoded_len(&audio.data));
                *self = Content::Text(line_of_text(line, audio.annotations.take()));
            }
            Content::ResourceLink(link) if revision < Revision::V2025_06_18 => {
                let line = format!("[resource {}: {}]", link.name, link.uri);
                *self = Content::Text(line_of_text(line, link.annotations.take()));
            }
            _ => {}
        }
        match self {
            Content::Text(block) => block.project(revision),
            Content::Image(block) => block.project(revision),
            Content::Audio(block) => block.project(revision),
            Content::Resource(block) => block.project(revision),
            Content::ResourceLink(block) => block.project(revision),
            Content::Unknown(block) if keeps_unknown(revision) => block.project(revision),
            Content::Unknown(block) => {
                Err(InvalidValue::new(format!("content of type {:?} does not exist in {revision}", block.kind)))
            }
        }
    }
}

fn line_of_text(line: String, annotations: Option<Annotations>) -> TextContent {
    let mut text = TextContent::new(line);
    text.annotations = annotations;
    text
}

impl fmt::Display for Content {
    /// The text, or what stands in its place, for logs and terminals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Text(block) => f.write_str(&block.text),
            other => write!(f, "[{}]", other.kind()),
        }
    }
}
