//! What an OpenAPI document promises to clients, as lines that two releases are compared by.
//!
//! A client of an old release works with a new one if each promise of the old one is kept, and nothing is demanded that was not before.

use std::collections::BTreeSet;

use serde_json::Value;

/// The methods that a path may have.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The promises and demands of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promises {
    /// What clients may rely on: operations, statuses, and members of replies and of bodies.
    pub kept: BTreeSet<String>,
    /// What clients have to send: parameters and members of bodies.
    pub demanded: BTreeSet<String>,
}

impl Promises {
    /// Reads a document.
    pub fn read(document: &Value) -> Promises {
        let mut reader = Reader { document, found: Promises::default() };
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for method in METHODS {
                if let Some(operation) = item.get(method) {
                    reader.read_operation(&format!("{} {path}", method.to_uppercase()), operation);
                }
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            reader.read_kept(&format!("schema {name}"), schema);
        }
        reader.found
    }

    /// Parses lines as [`Promises::to_lines`] writes them.
    pub fn parse(lines: &str) -> Promises {
        let mut promises = Promises::default();
        for line in lines.lines() {
            match line.strip_prefix("demands ") {
                Some(demand) => promises.demanded.insert(demand.to_owned()),
                None => promises.kept.insert(line.strip_prefix("promises ").unwrap_or(line).to_owned()),
            };
        }
        promises
    }

    /// The lines of a file.
    pub fn to_lines(&self) -> String {
        let kept = self.kept.iter().map(|it| format!("promises {it}\n"));
        kept.chain(self.demanded.iter().map(|it| format!("demands {it}\n"))).collect()
    }

    /// What breaks a client of this release when it meets a later one.
    pub fn broken_by(&self, later: &Promises) -> Vec<String> {
        let gone = self.kept.difference(&later.kept).map(|it| format!("no longer: {it}"));
        // What a new operation demands asks nothing of those that do not call it.
        let is_known = |demand: &&String| {
            let operation = demand.split("  ").next().unwrap_or_default();
            self.kept.contains(operation)
        };
        gone.chain(later.demanded.difference(&self.demanded).filter(is_known).map(|it| format!("newly demanded: {it}"))).collect()
    }
}

struct Reader<'d> {
    document: &'d Value,
    found: Promises,
}

impl<'d> Reader<'d> {
    fn read_operation(&mut self, operation: &str, definition: &'d Value) {
        self.found.kept.insert(operation.to_owned());
        for parameter in definition["parameters"].as_array().into_iter().flatten() {
            let text = |member: &str| parameter[member].as_str().unwrap_or_default().to_owned();
            let name = format!("{operation}  {} {}", text("in"), text("name"));
            if parameter["required"] == true {
                self.found.demanded.insert(name.clone());
            }
            self.found.kept.insert(name);
        }
        let body = &definition["requestBody"];
        if body["required"] == true {
            self.found.demanded.insert(format!("{operation}  body"));
        }
        for (kind, content) in body["content"].as_object().into_iter().flatten() {
            let place = format!("{operation}  body {kind}");
            self.found.kept.insert(place.clone());
            self.read_kept(&place, &content["schema"]);
            self.read_demanded(&place, &content["schema"], &mut Vec::new());
        }
        for (status, response) in definition["responses"].as_object().into_iter().flatten() {
            let place = format!("{operation}  {status}");
            self.found.kept.insert(place.clone());
            for (kind, content) in response["content"].as_object().into_iter().flatten() {
                let place = format!("{place} {kind}");
                self.found.kept.insert(place.clone());
                self.read_kept(&place, &content["schema"]);
            }
        }
    }

    /// Reads the members that a schema has. Those of a named one are read once, under its name.
    fn read_kept(&mut self, place: &str, schema: &Value) {
        if let Some(name) = schema_name(schema) {
            self.found.kept.insert(format!("{place} is {name}"));
            return;
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place} .{name}");
            self.found.kept.insert(place.clone());
            self.read_kept(&place, member);
        }
        if schema["items"].is_object() {
            self.read_kept(&format!("{place} []"), &schema["items"]);
        }
        for part in ["allOf", "oneOf", "anyOf"].into_iter().flat_map(|choice| schema[choice].as_array().into_iter().flatten()) {
            self.read_kept(place, part);
        }
    }

    /// Reads the members that have to be sent. A schema that contains itself is read once on each way; of alternatives none has to be sent.
    fn read_demanded(&mut self, place: &str, schema: &'d Value, open: &mut Vec<&'d str>) {
        if let Some(name) = schema_name(schema) {
            if !open.contains(&name) {
                open.push(name);
                self.read_demanded(place, &self.document["components"]["schemas"][name], open);
                open.pop();
            }
            return;
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        self.found.demanded.extend(required.map(|name| format!("{place} .{name}")));
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.read_demanded(&format!("{place} .{name}"), member, open);
        }
        if schema["items"].is_object() {
            self.read_demanded(&format!("{place} []"), &schema["items"], open);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.read_demanded(place, part, open);
        }
    }
}

/// The name of the schema that a reference leads to.
fn schema_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Promises;

    fn document(body: &Value, reply: &Value) -> Value {
        json!({
            "paths": {"/turns": {"post": {
                "parameters": [{"in": "query", "name": "trace", "required": false}],
                "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}}},
                "responses": {"200": {"content": {"application/json": {"schema": reply}}}}
            }}},
            "components": {"schemas": {"Body": body}}
        })
    }

    /// A body that may contain itself.
    fn body(more: &Value, required: &[&str]) -> Value {
        let mut body = json!({"properties": {"text": {}, "next": {"$ref": "#/components/schemas/Body"}}, "required": required});
        body["properties"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    fn broken(body_now: &Value, reply: &Value) -> Vec<String> {
        let old = document(&body(&json!({}), &["text"]), &json!({"properties": {"answer": {}}}));
        let lines = Promises::read(&old).to_lines();
        Promises::parse(&lines).broken_by(&Promises::read(&document(body_now, reply)))
    }

    #[test]
    fn what_is_added_breaks_nobody() {
        let reply = json!({"properties": {"answer": {}, "more": {}}, "required": ["more"]});
        assert_eq!(broken(&body(&json!({"more": {}}), &[]), &reply), Vec::<String>::new());
    }

    #[test]
    fn what_is_gone_or_newly_demanded_is_named() {
        assert_eq!(
            broken(&body(&json!({"more": {}}), &["text", "more"]), &json!({"properties": {}})),
            ["no longer: POST /turns  200 application/json .answer", "newly demanded: POST /turns  body application/json .more",]
        );
        let mut other = body(&json!({}), &["text"]);
        other["properties"].as_object_mut().unwrap().shift_remove("text");
        assert_eq!(broken(&other, &json!({"properties": {"answer": {}}})), ["no longer: schema Body .text"]);
    }
}
