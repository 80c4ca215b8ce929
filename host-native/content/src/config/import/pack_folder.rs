//! Packs of one folder, which together are the configuration of a database.

use convengine_core::config::{OTHER_TABLES, TABLES};

use super::{ParsedPack, TOOL_QUERY_TABLE, TOOL_TABLE};

/// The servers whose tools are approved by hand.
const SERVER_TABLE: &str = "ce_mcp_server";

/// The tables in which approvals store rows that no pack has.
const APPROVAL_TABLES: [&str; 2] = ["cv_mcp_tool", TOOL_TABLE];

impl ParsedPack {
    /// Adds what other packs have and this one lacks: tables, each as the first of them has it, and scripted answers. Those of the database
    /// that no pack has are left out of an import by that.
    pub fn add_missing(&mut self, others: &[&ParsedPack]) {
        self.scripts.add_absent_kinds();
        for other in others {
            for (table, rows) in &other.pack.tables.0 {
                // Queries belong to the tools of their pack. An import keeps those whose tools it has.
                let is_of_other_tools = table == TOOL_QUERY_TABLE && self.has_table(TOOL_TABLE);
                if !is_of_other_tools && !self.has_table(table) {
                    self.pack.tables.0.insert(table.clone(), rows.clone());
                }
            }
            for (hash, module) in &other.pack.modules {
                self.pack.modules.entry(hash.clone()).or_insert_with(|| module.clone());
            }
            self.scripts.add_missing(&other.scripts);
        }
    }

    /// Adds the tables that neither this pack nor one of the others has, without rows: an import deletes what none of them has.
    pub fn add_empty_tables(&mut self, others: &[&ParsedPack]) {
        let has_table = |table: &str| self.has_table(table) || others.iter().any(|it| it.has_table(table));
        let has_servers = has_table(SERVER_TABLE);
        let is_left_out = |table: &str| has_table(table) || (has_servers && APPROVAL_TABLES.contains(&table));
        let empty: Vec<&str> = TABLES.iter().chain(&OTHER_TABLES).map(|it| it.name).filter(|table| !is_left_out(table)).collect();
        for table in empty {
            self.pack.tables.0.insert(table.to_owned(), Vec::new());
        }
    }

    fn has_table(&self, table: &str) -> bool {
        self.pack.tables.0.contains_key(table)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pack(tables: &Value) -> ParsedPack {
        ParsedPack::parse(&json!({"name": "p", "tables": tables}).to_string()).expect("a pack")
    }

    fn table_names(pack: &ParsedPack) -> Vec<&str> {
        pack.pack.tables.0.iter().filter(|it| !it.1.is_empty()).map(|it| it.0.as_str()).collect()
    }

    #[test]
    fn tables_are_those_of_the_first_pack_that_has_them() {
        let intent = |code: &str| json!([{"intent_code": code, "description": "d"}]);
        let mut own = pack(&json!({"ce_intent": intent("OWN")}));
        let first = pack(&json!({"ce_intent": intent("FIRST"), "ce_state_graph": []}));
        let second = pack(&json!({"ce_state_graph": [{"graph_id": 1}], "ce_policy": [{"policy_id": 1}]}));
        own.add_missing(&[&first, &second]);
        own.add_empty_tables(&[&first, &second]);
        assert_eq!(table_names(&own), ["ce_intent", "ce_policy"]);
        assert_eq!(own.pack.tables.0["ce_intent"][0]["intent_code"], "OWN");
        assert_eq!(own.pack.tables.0.len(), TABLES.len() + OTHER_TABLES.len());
    }

    #[test]
    fn queries_stay_with_their_tools() {
        let tool = |id: u32| json!([{"tool_id": id, "tool_code": format!("t{id}"), "tool_group": "DB"}]);
        let (mut own, mut none) = (pack(&json!({"ce_mcp_tool": tool(1)})), pack(&json!({})));
        let other = pack(&json!({"ce_mcp_tool": tool(2), "ce_mcp_db_tool": [{"tool_id": 2}]}));
        for it in [&mut own, &mut none] {
            it.add_missing(&[&other]);
            it.add_empty_tables(&[&other]);
        }
        assert!(!own.has_table(TOOL_QUERY_TABLE), "an import keeps the stored ones");
        assert_eq!(table_names(&none), ["ce_mcp_db_tool", "ce_mcp_tool"]);
    }

    #[test]
    fn approvals_stay_as_long_as_there_is_a_server() {
        let (mut with, mut without) = (pack(&json!({"ce_mcp_server": [{"server_key": "oms"}]})), pack(&json!({})));
        with.add_empty_tables(&[]);
        without.add_empty_tables(&[]);
        for table in APPROVAL_TABLES {
            assert!(!with.has_table(table) && without.has_table(table), "{table}");
        }
    }
}
