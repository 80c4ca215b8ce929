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
            self.read_schema(&place, &content["schema"], true, &mut Vec::new());
        }
        for (status, response) in definition["responses"].as_object().into_iter().flatten() {
            let place = format!("{operation}  {status}");
            self.found.kept.insert(place.clone());
            for (kind, content) in response["content"].as_object().into_iter().flatten() {
                let place = format!("{place} {kind}");
                self.found.kept.insert(place.clone());
                self.read_schema(&place, &content["schema"], false, &mut Vec::new());
            }
        }
    }

    /// Reads the members of a schema. One that contains itself is read once on each way.
    fn read_schema(&mut self, place: &str, schema: &'d Value, is_sent: bool, open: &mut Vec<&'d str>) {
        if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/components/schemas/")) {
            if !open.contains(&name) {
                open.push(name);
                self.read_schema(place, &self.document["components"]["schemas"][name], is_sent, open);
                open.pop();
            }
            return;
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place} .{name}");
            self.found.kept.insert(place.clone());
            self.read_schema(&place, member, is_sent, open);
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if is_sent {
            self.found.demanded.extend(required.map(|name| format!("{place} .{name}")));
        }
        if schema["items"].is_object() {
            self.read_schema(&format!("{place} []"), &schema["items"], is_sent, open);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.read_schema(place, part, is_sent, open);
        }
        for choice in ["oneOf", "anyOf"] {
            for part in schema[choice].as_array().into_iter().flatten() {
                // None of the alternatives has to be sent.
                self.read_schema(place, part, false, open);
            }
        }
    }
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

    fn broken(body: &Value, reply: &Value) -> Vec<String> {
        let old = document(
            &json!({"properties": {"text": {}, "next": {"$ref": "#/components/schemas/Body"}}, "required": ["text"]}),
            &json!({"properties": {"answer": {}}}),
        );
        let lines = Promises::read(&old).to_lines();
        Promises::parse(&lines).broken_by(&Promises::read(&document(body, reply)))
    }

    #[test]
    fn what_is_added_breaks_nobody() {
        let body = json!({"properties": {"text": {}, "next": {}, "more": {}}, "required": []});
        assert_eq!(broken(&body, &json!({"properties": {"answer": {}, "more": {}}, "required": ["more"]})), Vec::<String>::new());
    }

    #[test]
    fn what_is_gone_or_newly_demanded_is_named() {
        let body = json!({"properties": {"text": {}, "next": {}, "more": {}}, "required": ["text", "more"]});
        assert_eq!(
            broken(&body, &json!({"properties": {}})),
            ["no longer: POST /turns  200 application/json .answer", "newly demanded: POST /turns  body application/json .more",]
        );
    }
}
