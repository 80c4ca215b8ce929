//! JSONPath queries of RFC 9535, as used by flow documents. The paths of tables are a different dialect, see [`path`](super::path).

mod filter;
mod parse;

use serde_json::Value;

use super::path::select;
use filter::QueryFilter;

/// The most values that a segment returns: selectors may select the same value repeatedly.
const MAX_FOUND: usize = 100_000;

/// A compiled query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Whether the query starts at the document (`$`) or at the tested value (`@`).
    from_document: bool,
    segments: Vec<QuerySegment>,
}

/// One part of a query.
#[derive(Debug, Clone)]
struct QuerySegment {
    /// Whether the selectors apply to all descendants, too (`..`).
    deep: bool,
    selectors: Vec<QuerySelector>,
}

/// A selector of children.
#[derive(Debug, Clone)]
enum QuerySelector {
    Basic(select::Selector),
    Filter(Box<QueryFilter>),
}

impl Query {
    /// Compiles a query.
    ///
    /// # Errors
    /// The unexpected text and its character.
    pub fn compile(source: &str) -> Result<Query, String> {
        parse::parse_query(source)
    }

    /// Returns whether the query can select at most one value.
    pub fn is_singular(&self) -> bool {
        self.segments.iter().all(QuerySegment::is_singular)
    }

    /// Returns the value of a singular query, or the list of values of any other query; `None` when nothing is found.
    pub fn value(&self, document: &Value) -> Option<Value> {
        let mut found = self.find(document, document).into_iter().cloned();
        if self.is_singular() {
            return found.next();
        }
        let all: Vec<Value> = found.collect();
        (!all.is_empty()).then_some(Value::Array(all))
    }

    /// Returns all values that the query selects.
    pub fn find<'v>(&self, document: &'v Value, current: &'v Value) -> Vec<&'v Value> {
        let root = if self.from_document { document } else { current };
        let step = |nodes: Vec<&'v Value>, segment: &QuerySegment| {
            nodes.into_iter().flat_map(|it| segment.select(document, it)).take(MAX_FOUND).collect()
        };
        self.segments.iter().fold(vec![root], step)
    }
}

impl QuerySegment {
    fn is_singular(&self) -> bool {
        let one = |it: &QuerySelector| matches!(it, QuerySelector::Basic(select::Selector::Name(_) | select::Selector::Index(_)));
        !self.deep && matches!(self.selectors.as_slice(), [only] if one(only))
    }

    fn select<'v>(&self, document: &'v Value, node: &'v Value) -> Vec<&'v Value> {
        let nodes = if self.deep { select::with_descendants(node) } else { vec![node] };
        nodes.into_iter().flat_map(|node| self.selectors.iter().flat_map(move |it| it.select(document, node))).collect()
    }
}

impl QuerySelector {
    fn select<'v>(&self, document: &'v Value, node: &'v Value) -> Vec<&'v Value> {
        match self {
            QuerySelector::Basic(place) => place.select(node),
            QuerySelector::Filter(filter) => select::children(node).into_iter().filter(|it| filter.matches(document, it)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "store": {"book": [
                {"category": "reference", "author": "Nigel Rees", "title": "Sayings", "price": 8.95},
                {"category": "fiction", "author": "Evelyn Waugh", "title": "Sword", "price": 12.99},
                {"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553", "price": 8.99},
                {"category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord", "isbn": "0-395", "price": 22.99}
            ], "bicycle": {"color": "red", "price": 399}},
            "max": 9, "none": null, "list": [], "o": {"j": 1, "k": [2, 3]}, "it's": "q", "é": "e", "tags": ["a", "", "abc"]
        })
    }

    fn value(path: &str) -> Value {
        Query::compile(path).unwrap_or_else(|it| panic!("{path}: {it}")).value(&document()).unwrap_or(json!("nothing"))
    }

    #[test]
    fn a_singular_query_leads_to_a_value_and_any_other_to_a_list() {
        for (path, expected) in [
            ("$.max", json!(9)),
            ("$['max']", json!(9)),
            ("$.none", json!(null)),
            ("$.nope", json!("nothing")),
            ("$.list", json!([])),
            ("$.list[*]", json!("nothing")),
            ("$.store.book[0].title", json!("Sayings")),
            ("$.store.book[-1]['title']", json!("The Lord")),
            ("$.store.book[9]", json!("nothing")),
            ("$.store.book[*].price", json!([8.95, 12.99, 8.99, 22.99])),
            ("$.store.book[0,2].price", json!([8.95, 8.99])),
            ("$.store.book[1:3].price", json!([12.99, 8.99])),
            ("$.store.book[::-2].price", json!([22.99, 12.99])),
            ("$..price", json!([8.95, 12.99, 8.99, 22.99, 399])),
            ("$..book[2].author", json!(["Herman Melville"])),
            ("$.o[*, *]", json!([1, [2, 3], 1, [2, 3]])),
            ("$.o..[0]", json!([2])),
            ("$[\"it's\"]", json!("q")),
            ("$['it\\'s']", json!("q")),
            ("$['\\u00e9']", json!("e")),
            ("$.é", json!("e")),
            ("$ .o [ 'j' ]", json!(1)),
        ] {
            assert_eq!(value(path), expected, "{path}");
        }
        assert_eq!(value("$"), document());
    }

    #[test]
    fn filters_test_children() {
        for (filter, expected) in [
            ("@.price < 9", "Sayings, Moby Dick"),
            ("@.price <= $.max", "Sayings, Moby Dick"),
            ("@.isbn", "Moby Dick, The Lord"),
            ("!@.isbn", "Sayings, Sword"),
            ("@.isbn == @.nope", "Sayings, Sword"),
            ("@.category == 'fiction' && (@.price > 20 || @.price < 9)", "Moby Dick, The Lord"),
            ("!(@.category == 'fiction')", "Sayings"),
            ("@.price != 8.95", "Sword, Moby Dick, The Lord"),
            ("@.price == '8.95'", ""),
            ("@.title > 'Sq'", "Sword, The Lord"),
            ("@.price >= 22.99e0", "The Lord"),
            ("length(@.title) > 7", "Moby Dick, The Lord"),
            ("length(@.nope) == 1", ""),
            ("count(@.*) == 5", "Moby Dick, The Lord"),
            ("count($.store.book[*]) == 4", "Sayings, Sword, Moby Dick, The Lord"),
            ("match(@.author, 'J.*')", "The Lord"),
            ("match(@.author, 'Rees')", ""),
            ("search(@.author, 'Rees|Waugh')", "Sayings, Sword"),
            ("search(@.price, '8')", ""),
            ("search(@.author, @.nope)", ""),
            ("value(@..title) == 'Sword'", "Sword"),
            ("value(@.*) == 'Sword'", ""),
            ("@ == null", ""),
            ("true == true", "Sayings, Sword, Moby Dick, The Lord"),
        ] {
            let found = value(&format!("$.store.book[?{filter}].title"));
            let found = found.as_array().map(|it| it.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")).unwrap_or_default();
            assert_eq!(found, expected, "{filter}");
        }
        assert_eq!(value("$.o[?@ == 1]"), json!([1]));
        assert_eq!(value("$.o[?@[0] == 2, 'j']"), json!([[2, 3], 1]));
        assert_eq!(value("$.tags[?length(@) > 0]"), json!(["a", "abc"]));
        assert_eq!(value("$..[?@.color].price"), json!([399]));
    }

    #[test]
    fn results_match_a_standard_library() {
        use jsonpath_rust::JsonPath as _;
        let document = document();
        for path in [
            "$.*",
            "$.store..*",
            "$..book[-1:]",
            "$..book[?@.isbn]['price']",
            "$..book[?@.price < 10].title",
            "$..book[?@.price < 10 || @.category == 'fiction' && !@.isbn].title",
            "$..book[?search(@.title, '[Ss]w')].price",
            "$..book[?match(@.isbn, '0-3.*')].price",
            "$..book[?length(@.title) > 7].price",
            "$..book[?count(@.*) > 4].price",
            "$..[?@.color == 'red'].price",
            "$.tags[?@ > 'a']",
            "$.o.k[?@ >= 2]",
            "$[?@[0] == 2]",
            "$.store.book[?@.price == $.store.book[2].price].title",
        ] {
            let expected: Vec<Value> = document.query(path).unwrap().into_iter().cloned().collect();
            let found: Vec<Value> = Query::compile(path).unwrap().find(&document, &document).into_iter().cloned().collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn non_standard_queries_are_rejected() {
        for path in [
            "",
            "max",
            "@.max",
            "$.",
            "$..",
            "$[",
            "$[]",
            "$[01]",
            "$['a'",
            "$['a\\x']",
            "$[?]",
            "$[?@.a = 1]",
            "$[?@.* == 1]",
            "$[?length(@.a)]",
            "$[?match(@.a, 'x') == true]",
            "$[?count(1) > 0]",
            "$[?nope(@)]",
            "$[?1]",
            "$[?@.k == [2, 3]]",
            "$[?@.a in [1]]",
            "$.length()",
            "$.a b",
        ] {
            assert!(Query::compile(path).is_err(), "{path}");
        }
        let often = Query::compile(&format!("${}", "[*,*]".repeat(60))).unwrap();
        let nested = (0..60).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(often.find(&nested, &nested).len(), MAX_FOUND);
        let deep = format!("$[?{}@{}]", "(".repeat(10_000), ")".repeat(10_000));
        assert!(Query::compile(&deep).is_err());
    }
}
