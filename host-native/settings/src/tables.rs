//! Table names: `convengine.tables`.

use std::collections::BTreeMap;

use super::value::{Text, problem};

/// Refuses other names of tables: statements contain the names (docs/spec/data-and-api.md#1.1).
pub(super) fn check_names(tables: &BTreeMap<String, Text>, problems: &mut Vec<String>) {
    for (key, Text(name)) in tables {
        let key_name = key.to_lowercase().replace('-', "_");
        let fixed = format!("ce_{}", key_name.trim_start_matches("ce_"));
        if !name.eq_ignore_ascii_case(&fixed) {
            let reason = format!("tables cannot have other names; rename the table '{name}' to {fixed} and remove the setting");
            problems.push(problem(format!("tables.{key}"), reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fixed_names_are_accepted() {
        let names = [("AUDIT", "ce_audit"), ("mcp-tool", "CE_MCP_TOOL"), ("RULE", "my_rule"), ("INTENT", ""), ("CE_INTENT", "ce_intent")];
        let mut problems = Vec::new();
        check_names(&names.into_iter().map(|(key, name)| (key.to_owned(), Text(name.to_owned()))).collect(), &mut problems);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[1].starts_with("convengine.tables.RULE: ") && problems[1].contains("'my_rule' to ce_rule"), "{problems:?}");
    }
}
