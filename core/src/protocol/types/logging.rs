//! Log messages and their levels.

use super::json::Json;
use super::members::Meta;
use super::object::object;
use super::words::words;

words! {
    /// How severe a log message is, in the order of RFC 5424 from least to most (SCH-T28, LOG-05).
    #[derive(PartialOrd, Ord)]
    pub enum LoggingLevel {
        /// Details for finding faults.
        "debug" => Debug,
        /// Something that happened as it should.
        "info" => Info,
        /// Normal, but of note.
        "notice" => Notice,
        /// May become a fault.
        "warning" => Warning,
        /// Something failed.
        "error" => Error,
        /// A part of the whole failed.
        "critical" => Critical,
        /// Somebody must act at once.
        "alert" => Alert,
        /// Nothing works.
        "emergency" => Emergency,
    }
}

object! {
    /// The parameters of `logging/setLevel` (LOG-02).
    pub struct SetLevelRequest {
        required {
            /// The least severe level to be sent from now on (LOG-03).
            "level" => level: LoggingLevel,
        }
        optional {
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `notifications/message` (LOG-07).
    pub struct LoggingMessageNotification {
        required {
            /// How severe it is.
            "level" => level: LoggingLevel,
            /// Any JSON, `null` included.
            "data" => data: Json,
        }
        optional {
            /// The name of what logs.
            "logger" => logger, with_logger: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}
