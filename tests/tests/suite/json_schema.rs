//! The official suite of JSON Schema, for the keywords that the validator has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use convengine_core::json::schema::JsonSchema;
use convengine_test_macros::test;
use serde::Deserialize;
use serde_json::Value;

/// The files of the suite for the keywords that are checked. Some have cases beside them that need what the validator does not have.
const FILES: [&str; 30] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "boolean_schema",
    "const",
    "default",
    "defs",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "infinite-loop-detection",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "ref",
    "required",
    "type",
    "uniqueItems",
];

/// What a schema is rejected for that uses something the validator does not have.
const UNSUPPORTED: [&str; 3] = ["is not checked here", "leads out of the schema", "leads nowhere"];

#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

#[test]
#[on(no_database)]
fn the_official_cases_are_judged_as_they_say() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../json-schema-suite/tests/draft2020-12");
    let (mut passed, mut rejected, mut wrong) = (0, BTreeMap::new(), Vec::new());
    for file in FILES {
        let path = folder.join(format!("{file}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("no suite of JSON Schema; run `cargo xtask test`"));
        for Group { description: group, schema, tests } in serde_json::from_str::<Vec<Group>>(&text).unwrap() {
            let compiled = match JsonSchema::compile(&schema) {
                Ok(compiled) => compiled,
                Err(reason) => {
                    assert!(UNSUPPORTED.iter().any(|it| reason.contains(it)), "{file}: {group}: {reason}");
                    *rejected.entry(reason).or_insert(0) += tests.len();
                    continue;
                }
            };
            for Case { description, data, valid } in tests {
                let found = compiled.find_violation(&data);
                if found.is_none() == valid { passed += 1 } else { wrong.push(format!("{file}: {group}: {description}: {found:?}")) }
            }
        }
    }
    println!("{passed} cases pass; rejected with their schema: {rejected:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The suite has one version, so that a keyword which is no longer understood shows.
    assert_eq!((passed, rejected.values().sum::<usize>()), (681, 101));
}
