//! Free-form JSON: what is accepted is JSON on one line, the same value, and is accepted again as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_native::protocol::Json;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let tree = serde_json::from_str::<Value>(text);
    match Json::parse(text) {
        Ok(json) => {
            assert!(!json.get().contains(['\n', '\r']));
            assert_eq!(json.get(), json.get().trim());
            assert_eq!(json.is_object(), json.get().starts_with('{'));
            assert_eq!(Json::parse(json.get()).as_ref(), Ok(&json));
            if let Ok(tree) = tree {
                assert_eq!(json.to_value(), Ok(tree));
            }
        }
        // Whatever fits into a tree (which is less deep) is accepted.
        Err(error) => assert!(tree.is_err(), "{error}"),
    }
});
