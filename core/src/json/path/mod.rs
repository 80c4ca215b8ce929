//! JSON paths of table rows, with the filter semantics that existing rules rely on. (docs/spec/data-and-api.md#6.5)
//!
//! Segments follow RFC 9535. Filters do not: they test an object itself, coerce numeric strings and treat a missing member as null. A
//! bare comparison `$.a == 1` is short for `$[?(@.a == 1)]`.

mod evaluate;
mod members;
mod operator;
mod parse;
mod read_values;
mod satisfiability;
pub(in crate::json) mod select;
mod tree;

use serde_json::{Map, Value};

pub(in crate::json) use operator::length;
pub use parse::operator_names;
pub use satisfiability::{KnownType, Satisfiability};
pub use tree::CompiledPath;

/// A compiled JSON path or bare comparison.
#[derive(Debug, Clone)]
pub struct JsonPath {
    path: CompiledPath,
    members: Option<members::ReadMembers>,
}

impl JsonPath {
    /// Compiles a path.
    ///
    /// # Errors
    /// The unexpected text and its character.
    pub fn compile(source: &str) -> Result<JsonPath, String> {
        parse::parse_path(source).map(|path| JsonPath { members: members::collect_members(&path), path })
    }

    /// Returns the members of the document that decide whether the path matches; `None` when any of them may.
    pub fn members(&self) -> Option<&[String]> {
        self.members.as_ref().map(|it| it.names.as_slice())
    }

    /// Returns the members of the document that decide what the path finds; `None` when any of them may.
    pub fn members_of_values(&self) -> Option<&[String]> {
        self.members.as_ref().filter(|it| !it.finds_document).map(|it| it.names.as_slice())
    }

    /// Returns whether the path matches a document: it finds something other than a single `false`.
    pub fn matches(&self, document: &Value) -> bool {
        let found = self.path.find(document, document);
        match found.as_slice() {
            [] => false,
            [only] => only.as_bool().unwrap_or(true),
            _ => true,
        }
    }

    /// Returns the first value that the path finds.
    pub fn first(&self, document: &Value) -> Option<Value> {
        self.path.find(document, document).into_iter().next().map(std::borrow::Cow::into_owned)
    }

    /// Returns the value at the path, or the list of values if it has wildcards, slices, descendants or filters.
    pub fn value(&self, document: &Value) -> Option<Value> {
        self.path.value(document)
    }

    /// Returns whether the path finds a value other than null.
    pub fn has_value(&self, document: &Value) -> bool {
        self.path.find(document, document).iter().any(|it| !it.is_null())
    }

    /// Returns the values that decide whether the path matches, by their location in the document; null for a missing value. A list
    /// that is searched is returned as a whole.
    pub fn read_values(&self, document: &Value) -> Map<String, Value> {
        read_values::read_values(&self.path, document)
    }

    /// Returns whether the path can match, given what is known about the members that it names.
    pub fn satisfiability(&self, known: impl FnMut(&[&str]) -> KnownType) -> Satisfiability {
        satisfiability::check_satisfiability(&self.path, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "intent": "J", "state": "IDLE", "schemaComplete": false,
            "context": {"orderNumber": "A1", "gone": null},
            "inputParams": {
                "n": 7, "ratio": 0.7, "ten": "10", "name": "Bob", "items": [{"q": 1}, {"q": 2}], "tags": ["a", "b"],
                "flag": true, "empty": "", "list": [], "nul": null, "zero": 0, "false": false, "a-b": 1
            }
        })
    }

    fn is_match(path: &str) -> bool {
        JsonPath::compile(path).unwrap_or_else(|error| panic!("{path}: {error}")).matches(&document())
    }

    #[test]
    fn any_value_but_a_single_false_matches() {
        for path in [
            "$.intent",
            "intent",
            " $.intent ",
            "$",
            "$.inputParams.n",
            "$.inputParams.zero",
            "$.inputParams.empty",
            "$.inputParams.list",
            "$.inputParams.nul",
            "$.inputParams.items[*].q",
            "$..q",
            "$.inputParams.items[0].q",
            "$.inputParams.items[-1].q",
            "$.inputParams.items[0:1]",
            "$['intent','state']",
            "$.inputParams.a-b",
            "@.state",
        ] {
            assert!(is_match(path), "{path}");
        }
        for path in ["$.context.nope", "$.schemaComplete", "$.inputParams.false", "$.n", "$.inputParams.items.length()", "$.a.b.c"] {
            assert!(!is_match(path), "{path}");
        }
    }

    #[test]
    fn filters_test_an_object_itself_and_the_elements_of_an_array() {
        for path in [
            "$[?(@.inputParams.n > 5)]",
            "$.context[?(@.orderNumber == 'A1')]",
            "$.inputParams.items[?(@.q > 1)]",
            "$[?(@.inputParams.items[?(@.q == 2)])]",
            "$[?(@.intent == 'J' && (@.state == \"X\" || @.state == 'IDLE'))]",
            "$.inputParams.items[?(@.q > 1)].q",
            "$[?($.intent == 'J')]",
        ] {
            assert!(is_match(path), "{path}");
        }
        for path in ["$[?(@.inputParams.n < 5)]", "$.inputParams.items[?(@.q > 2)]", "$.inputParams.items[?(@.q > 1)].x"] {
            assert!(!is_match(path), "{path}");
        }
    }

    #[test]
    fn missing_members_are_null_and_numeric_strings_are_coerced() {
        for path in [
            "$[?(@.context.nope == null)]",
            "$[?(@.context.gone == null)]",
            "$[?(@.context.nope != 'v')]",
            "$[?(@.context.nope != true)]",
            "$[?(@.context.gone)]",
            "$[?(!@.context.nope)]",
            "$[?(@.inputParams.ten == 10)]",
            "$[?('10' == 10)]",
            "$[?(@.inputParams.ratio == '0.7')]",
            "$[?(@.inputParams.n != null && @.inputParams.n != '')]",
            "$[?(@.schemaComplete==false)]",
        ] {
            assert!(is_match(path), "{path}");
        }
        for path in [
            "$[?(@.context.gone != null)]",
            "$[?(@.inputParams.ten > 5)]",
            "$[?(@.inputParams.flag == 'true')]",
            "$[?(@.inputParams.name == 'bob')]",
            "$[?(!@.context.gone)]",
        ] {
            assert!(!is_match(path), "{path}");
        }
    }

    #[test]
    fn members_are_those_that_the_path_reads() {
        for (path, expected) in [
            ("$.context.a", Some("context")),
            ("intent == 'J' && $.inputParams.items[?(@.q > $.limit)].q", Some("intent inputParams limit")),
            ("$.inputParams.items[?(@.q > $.limit)].q", Some("inputParams limit")),
            ("$[?(@.intent == 'J' || !@.state)]", Some("intent state")),
            ("$[?(@.a)][?(@.b =~ /x/)].c", Some("a b c")),
            ("$['a','b']", Some("a b")),
            ("$.a..b", Some("a")),
            ("$.a.length()", Some("a")),
            ("$", Some("")),
            ("$.*", None),
            ("$..a", None),
            ("$[?(@.size() > 3)]", None),
            ("$[?(@ == 1)]", None),
            ("$.a[?($ == 1)]", None),
        ] {
            let compiled = JsonPath::compile(path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(compiled.members().map(|it| it.join(" ")).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_path_that_finds_the_document_needs_all_of_it() {
        for (path, expected) in [("$", None), ("$[?(@.a == 1)]", None), ("$.a[?(@.x > $.b)]", Some("a b")), ("$['a','b']", Some("a b"))] {
            let compiled = JsonPath::compile(path).unwrap();
            assert_eq!(compiled.members_of_values().map(|it| it.join(" ")).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn named_operators_and_functions_work_in_filters() {
        for path in [
            "$[?(@.inputParams.n in [7, 8])]",
            "$[?(@.inputParams.n nin [1])]",
            "$[?(@.inputParams.name =~ /bo.*/i)]",
            "$[?(@.inputParams.tags subsetof ['a','b','c'])]",
            "$[?(@.inputParams.tags anyof ['b'])]",
            "$[?(@.inputParams.tags noneof ['z'])]",
            "$[?(@.inputParams.tags size 2)]",
            "$[?(@.inputParams.empty empty true)]",
            "$[?(@.inputParams.tags contains 'a')]",
            "$[?(@.inputParams.name contains 'ob')]",
            "$[?(@.inputParams.items.length() == 2)]",
            "$[?(@.inputParams.items.size() > 1)]",
        ] {
            assert!(is_match(path), "{path}");
        }
        for path in [
            "$..[0]",
            "$..['q']",
            "$[?(@.inputParams.n in[7])]",
            "$[?(@.inputParams.n in\t[7])]",
            "$[?(@.inputParams.name contains'ob')]",
            "$[?('a/b' =~ /a\\/b/)]",
        ] {
            assert!(is_match(path), "{path}");
        }
        assert!(!is_match("$[?(@.inputParams.name =~ /bo.*/)]"));
    }

    #[test]
    fn a_bare_comparison_is_a_filter_of_the_root() {
        assert!(is_match("$.state == 'IDLE'"));
        assert!(is_match("$.schemaComplete == false && $.inputParams.n >= 7 || $.intent == 'X'"));
        assert!(!is_match("$.state != 'IDLE'"));
    }

    #[test]
    fn invalid_paths_return_a_message() {
        for source in ["$[?(@.broken", "$.a[", "$.", "$.a == ", "$[?(@.a = 1)]", "", "$.a and $.b", "$[?(@.a =~ /(/)]"] {
            let error = JsonPath::compile(source).unwrap_err();
            assert!(error.contains("at character"), "{source}: {error}");
        }
    }

    #[test]
    fn long_and_deep_paths_do_not_exhaust_the_stack() {
        let deep = format!("$.a in {}", "[".repeat(20_000));
        assert!(JsonPath::compile(&deep).is_err());
        let long = format!("$.a == 1{}", " || $.state == 'IDLE'".repeat(30_000));
        assert!(JsonPath::compile(&long).unwrap().matches(&document()));
    }
}
