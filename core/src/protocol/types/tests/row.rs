//! The four checks that each type row asks for.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{must_read, refusal, written};

/// One type row with instances to try.
pub(super) struct Row {
    /// The least that is legal.
    pub(super) minimal: Value,
    /// Its required members.
    pub(super) required: &'static [&'static str],
    /// Everything set.
    pub(super) full: Value,
    /// Members of `full` that take any JSON, null included, or whose members must be strings.
    pub(super) free: &'static [&'static str],
}

impl Row {
    /// The four checks of the requirement, and those of SCH-01 and SCH-03, for one type.
    pub(super) fn check<T: DeserializeOwned + Serialize + Debug + PartialEq>(&self) {
        let name = std::any::type_name::<T>();

        // (a) A minimal instance is read, and nothing is added when it is written: no null, no empty list.
        let minimal: T = must_read(&self.minimal);
        assert_eq!(written(&minimal), self.minimal, "{name}: minimal");

        // (b) Each required member must be there; the error names it.
        for member in self.required {
            let error = refusal::<T>(&without(&self.full, member));
            assert!(error.contains(&format!("`{member}`")), "{name} without {member}: {error}");
        }

        // (c) A full instance passes through without loss, from text and from a tree.
        let full: T = must_read(&self.full);
        assert_eq!(written(&full), self.full, "{name}: full");
        let from_tree: T = serde_json::from_value(self.full.clone()).expect("a tree is read as text is");
        assert_eq!(written(&from_tree), self.full, "{name}: full, from a tree");
        let from_stream: T = serde_json::from_reader(self.full.to_string().as_bytes()).expect("so is a stream");
        assert_eq!(from_stream, full, "{name}: full, from a stream");
        assert_eq!(must_read::<T>(&written(&full)), full, "{name}: full, twice");

        // (d) Unknown members are tolerated and kept, in every object of the instance.
        let mut unknown = self.full.clone();
        add_unknown(&mut unknown, self.free);
        let kept: T = must_read(&unknown);
        assert_eq!(written(&kept), unknown, "{name}: unknown members");

        self.check_nulls_and_wrong_types::<T>(name);
    }

    /// SCH-03: null of an optional member is absence. A value of another type is an error that names the member.
    fn check_nulls_and_wrong_types<T: DeserializeOwned + Serialize + Debug + PartialEq>(&self, name: &str) {
        for member in self.full.as_object().expect("rows are objects").keys() {
            if !self.required.contains(&member.as_str()) && !self.free.contains(&member.as_str()) {
                let null: T = must_read(&with(&self.full, member, Value::Null));
                assert_eq!(written(&null), without(&self.full, member), "{name}: null {member}");
            }
            if !self.free.contains(&member.as_str()) {
                let error = refusal::<T>(&with(&self.full, member, json!([[true]])));
                assert!(error.contains(&format!("`{member}`")), "{name} with a wrong {member}: {error}");
            }
        }
        // Objects are read from objects only, not from arrays of their members.
        let members: Vec<Value> = self.full.as_object().expect("rows are objects").values().cloned().collect();
        refusal::<T>(&Value::Array(members));
        refusal::<T>(&Value::Null);
    }
}

fn without(object: &Value, member: &str) -> Value {
    let mut object = object.clone();
    object.as_object_mut().expect("an object").remove(member).expect("the member is there");
    object
}

fn with(object: &Value, member: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[member] = value;
    object
}

/// Puts a member that nobody knows into every object, but not into members named in `skip`.
fn add_unknown(value: &mut Value, skip: &[&str]) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                if !skip.contains(&name.as_str()) {
                    add_unknown(member, skip);
                }
            }
            members.insert("zz".to_owned(), json!({"a": [1, null, {}]}));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| add_unknown(item, skip)),
        _ => {}
    }
}
