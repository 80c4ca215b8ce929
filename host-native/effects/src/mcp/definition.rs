//! Definitions of tools, reduced to what an approval covers.

use convengine_core::json::canonical;
use serde_json::Value;

/// The members that an approval covers: all that tells a model or the engine what a tool is.
const MEMBERS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// Returns the members of a definition that an approval covers.
pub fn pick_definition(definition: &Value) -> Value {
    let members =
        MEMBERS.iter().filter_map(|name| Some(((*name).to_owned(), definition.get(name).filter(|value| !value.is_null())?.clone())));
    Value::Object(members.collect())
}

/// Returns the members in which two definitions differ.
pub fn changed_members(approved: &Value, offered: &Value) -> Vec<&'static str> {
    let member = |definition: &Value, name: &str| definition.get(name).filter(|value| !value.is_null()).cloned();
    MEMBERS.into_iter().filter(|name| member(approved, name) != member(offered, name)).collect()
}

/// Returns the hash by which an approval names a definition.
pub fn digest(definition: &Value) -> String {
    let mut hasher = canonical::Hasher::default();
    hasher.add_json(&pick_definition(definition));
    format!("sha256:{}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_approved_counts() {
        let approved = json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"x": {}}}});
        let same = json!({"inputSchema": {"properties": {"x": {}}, "type": "object"}, "name": "a", "description": "d", "icons": [1]});
        assert_eq!((changed_members(&approved, &same), digest(&approved) == digest(&same)), (vec![], true));
        let mut other = same.clone();
        other["description"] = json!("e");
        other["annotations"] = json!({"readOnlyHint": true});
        assert_eq!(changed_members(&approved, &other), ["description", "annotations"]);
        assert_ne!(digest(&approved), digest(&other));
    }
}
