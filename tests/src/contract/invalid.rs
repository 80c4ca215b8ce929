//! Invalid API calls: each violates the OpenAPI document in one way.

use serde_json::{Map, Value, json};

use super::values::ValueGenerator;
use super::{Call, Operation};

/// Bodies that are not JSON, or not an expected body.
const INVALID_BODIES: [&[u8]; 14] = [
    b"",
    b" ",
    b"{",
    b"null",
    b"[]",
    b"7",
    b"\"text\"",
    b"{} {}",
    b"{'a':1}",
    b"{\"message\":\"\xff\xfe\"}",
    b"\xef\xbb\xbf{}",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"{\"message\":\"\\ud800\"}",
    b"{\"inputParams\":{\"n\":1e999}}",
];

/// Invalid ids.
const INVALID_IDS: [&str; 12] =
    ["x", "0", "-1", "%00", "%ff%fe", "%2e%2e%2f", "..%2f..%2fetc%2fpasswd", "%F0%9F%99%82", "%20", "null", "a'b%22c%3Cd%3E", "{id}"];

/// Unexpected query strings.
const INVALID_QUERIES: [&str; 12] = [
    "unknown=1",
    "=",
    "&&&",
    "a=%zz",
    "a=%ff",
    "a=%00",
    "%5B%5D=1",
    "a[b]=1",
    "limit=99999999999999999999",
    "limit=-1",
    "limit=1e9",
    "q=%F0%9F",
];

/// Methods that an operation may not have.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"];

/// Returns values of types that no schema of a body member accepts.
fn unexpected_values() -> [Value; 6] {
    [json!({"a": [1]}), json!([["x"]]), json!(1.5), json!(-9_007_199_254_740_993_i64), json!("no such word"), json!("x".repeat(30_000))]
}

/// Returns all invalid variants of `model`, a valid call; `known` are the methods of its path, which are valid.
pub fn calls(operation: &Operation, known: &[String], model: &Call, values: &mut ValueGenerator<'_>) -> Vec<Call> {
    let invalid = |what: String| Call { defect: Some(what), ..model.clone() };
    let mut calls = Vec::new();
    for method in METHODS.iter().filter(|method| !known.iter().any(|known| known == *method)) {
        calls.push(Call { method: (*method).to_owned(), ..invalid(format!("method {method}")) });
    }
    let route = model.path.split('?').next().unwrap_or_default();
    for query in INVALID_QUERIES {
        calls.push(Call { path: format!("{route}?{query}"), ..invalid(format!("query {query}")) });
    }
    for parameter in operation.definition["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        match parameter["in"].as_str() {
            Some("query") => {
                let long = "9".repeat(5_000);
                for value in ["", "%00", "%F0%9F%99%82", "-1", "1e400", "99999999999999999999999", "a'b%22%5C(", "%ff", long.as_str()] {
                    let path = format!("{route}?{name}={value}");
                    calls.push(Call { path, ..invalid(format!("query {name}={:.40}", value)) });
                }
                calls.push(Call { path: format!("{route}?{name}=1&{name}=2"), ..invalid(format!("query {name} twice")) });
            }
            Some("path") => {
                let ids = INVALID_IDS
                    .iter()
                    .map(|it| (*it).to_owned())
                    .chain(["a".repeat(5_000), values.generate_path_parameter(&parameter["schema"]).to_uppercase()]);
                for id in ids {
                    let path = operation.path.replace(&format!("{{{name}}}"), &id);
                    calls.push(Call { path, ..invalid(format!("path {id:.40}")) });
                }
            }
            _ => {}
        }
    }
    for (name, value) in invalid_headers() {
        let mut call = invalid(format!("header {name}: {:.40}", String::from_utf8_lossy(&value)));
        call.headers.retain(|it| it.0 != name);
        call.headers.push((name, value));
        calls.push(call);
    }
    if let Some(schema) = operation.definition.pointer("/requestBody/content/application~1json/schema") {
        calls.extend(calls_with_invalid_bodies(model, schema, values));
    } else {
        let body = Some(b"{\"unexpected\": true}".to_vec());
        calls.push(Call { body, ..invalid("an unexpected body".to_owned()) });
    }
    calls
}

fn invalid_headers() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("accept", b"text/html".to_vec()),
        ("accept", b"application/json;q=0".to_vec()),
        ("accept", b"\xff".to_vec()),
        ("content-type", b"text/plain".to_vec()),
        ("content-type", b"application/x-www-form-urlencoded".to_vec()),
        ("content-type", b"\xfe\xff".to_vec()),
        ("content-encoding", b"gzip".to_vec()),
        ("idempotency-key", Vec::new()),
        ("idempotency-key", "k".repeat(300).into_bytes()),
        ("idempotency-key", b"\xc3\xa9".to_vec()),
        ("traceparent", b"00-zz-zz-zz".to_vec()),
        ("x-request-id", "r".repeat(4_000).into_bytes()),
        ("last-event-id", b"../../x:99999999999999999999".to_vec()),
        ("if-none-match", b"W/\"x\", *".to_vec()),
        ("range", b"bytes=0-1,5-".to_vec()),
        ("cookie", b"a=b; =; ;".to_vec()),
    ]
}

fn calls_with_invalid_bodies(model: &Call, schema: &Value, values: &mut ValueGenerator<'_>) -> Vec<Call> {
    let with = |what: String, body: Vec<u8>| Call { defect: Some(what), body: Some(body), ..model.clone() };
    let mut calls: Vec<Call> =
        INVALID_BODIES.iter().map(|body| with(format!("body {:.40}", String::from_utf8_lossy(body)), body.to_vec())).collect();
    calls.push(Call { body: None, defect: Some("no body".to_owned()), ..model.clone() });
    calls.push(with("a deeply nested body".to_owned(), [b"{\"a\":".repeat(5_000), b"1".to_vec(), b"}".repeat(5_000)].concat()));
    calls.push(with("an oversized body".to_owned(), format!("{{\"a\":\"{}\"}}", "x".repeat(3 << 20)).into_bytes()));
    let whole = values.generate(schema, 0);
    let whole = whole.as_object().cloned().unwrap_or_default();
    let schema = values.resolve_reference(schema).clone();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let with_member = |value: Value| {
            let mut members: Map<String, Value> = whole.clone();
            members.insert(name.clone(), value);
            Value::Object(members).to_string().into_bytes()
        };
        for value in unexpected_values() {
            calls.push(with(format!("{name}: {:.40}", value.to_string()), with_member(value)));
        }
        if let Some(max_length) = member["maxLength"].as_u64().and_then(|limit| usize::try_from(limit).ok()) {
            calls.push(with(format!("{name} too long"), with_member(json!("é".repeat(max_length + 1)))));
        }
        let mut without = whole.clone();
        without.shift_remove(name);
        calls.push(with(format!("without {name}"), Value::Object(without).to_string().into_bytes()));
    }
    calls
}
