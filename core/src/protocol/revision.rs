//! Protocol revisions as values.

use std::fmt;

/// A published revision of the Model Context Protocol.
///
/// Revisions are names compared for equality (VER-09): a string that is not one of these is no revision and has no
/// order. The order of the variants is the order of publication. This release implements those in
/// [`Revision::IMPLEMENTED`]; the others are known so that tables and types can say when something came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// `2024-11-05`: sessions with a handshake; stdio and HTTP with SSE.
    V2024_11_05,
    /// `2025-03-26`: Streamable HTTP, batches, audio.
    V2025_03_26,
    /// `2025-06-18`: structured output, elicitation, titles.
    V2025_06_18,
    /// `2025-11-25`: icons, tasks, tools inside sampling.
    V2025_11_25,
    /// `2026-07-28`: stateless requests without a handshake.
    V2026_07_28,
}

/// The two families of revisions: with a handshake and a session, or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Era {
    /// `initialize` opens a session whose state holds until the transport ends.
    Legacy,
    /// Every request carries what it needs.
    Modern,
}

impl Revision {
    /// The revisions this release speaks, oldest first.
    pub const IMPLEMENTED: &'static [Revision] = &[Revision::V2024_11_05];

    /// Every revision this release knows of, oldest first.
    pub const ALL: &'static [Revision] = &[
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The name used on the wire, such as `2024-11-05`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with exactly this name, if it is one (VER-09).
    pub fn from_name(name: &str) -> Option<Revision> {
        Self::ALL.iter().copied().find(|revision| revision.as_str() == name)
    }

    /// Whether the revision has a handshake.
    pub const fn era(self) -> Era {
        match self {
            Revision::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: VER-09
    #[test]
    fn ver_09_only_exact_names_are_revisions() {
        for revision in Revision::ALL {
            assert_eq!(Revision::from_name(revision.as_str()), Some(*revision));
        }
        for alien in ["2025-99-99", "draft", "", "2024-11-5", "2024-11-05 ", "latest"] {
            assert_eq!(Revision::from_name(alien), None, "{alien:?}");
        }
    }
}
