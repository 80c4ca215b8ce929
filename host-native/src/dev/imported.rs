//! What the packs of a project have, so that rows of the database that none of them has any more can be deleted.

use convengine_content::config::import::ParsedPack;

/// The packs as they were imported last.
#[derive(Debug)]
pub struct ImportedPacks {
    /// The packs by name, the latest import first.
    packs: Vec<(String, ParsedPack)>,
    /// Whether the database belongs to the project. Rows of another one stay.
    is_own_database: bool,
}

impl ImportedPacks {
    /// Returns that no pack was imported yet.
    pub fn new(is_own_database: bool) -> Self {
        Self { packs: Vec::new(), is_own_database }
    }

    /// Returns a pack of the folder with what the others have and it lacks, as it is to be imported. `names` are all packs of the folder.
    pub fn complete(&self, names: &[String], name: &str, mut pack: ParsedPack) -> ParsedPack {
        let others: Vec<&ParsedPack> = self.packs.iter().filter(|it| it.0 != name).map(|it| &it.1).collect();
        pack.add_missing(&others);
        // What a pack has that could not be imported yet is unknown.
        let is_known = |it: &String| it == name || self.packs.iter().any(|known| known.0 == *it);
        if self.is_own_database && names.iter().all(is_known) {
            pack.add_empty_tables(&others);
        }
        pack
    }

    /// Remembers a pack that was imported.
    pub fn put(&mut self, name: &str, pack: ParsedPack) {
        self.packs.retain(|it| it.0 != name);
        self.packs.insert(0, (name.to_owned(), pack));
    }

    /// Forgets the packs that the folder has no more; returns their names.
    pub fn remove_absent(&mut self, names: &[String]) -> Vec<String> {
        self.packs.extract_if(.., |it| !names.contains(&it.0)).map(|it| it.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(table: &str) -> ParsedPack {
        let row = r#"{"intent_code": "A"}"#;
        ParsedPack::parse(&format!(r#"{{"name": "p", "tables": {{"{table}": [{row}]}}}}"#)).unwrap()
    }

    /// The tables of a pack, and those of them that have rows.
    fn counts(pack: &ParsedPack) -> (usize, Vec<&str>) {
        let tables = &pack.pack.tables.0;
        (tables.len(), tables.iter().filter(|it| !it.1.is_empty()).map(|it| it.0.as_str()).collect())
    }

    #[test]
    fn tables_of_no_pack_are_emptied_once_all_were_imported() {
        let names = ["a.json".to_owned(), "b.json".to_owned()];
        let mut imported = ImportedPacks::new(true);
        let whole = imported.complete(&names, "a.json", pack("ce_intent"));
        assert_eq!(counts(&whole), (1, vec!["ce_intent"]), "b.json is still to be imported");
        imported.put("a.json", pack("ce_intent"));
        let whole = imported.complete(&names, "b.json", pack("ce_policy"));
        assert_eq!(counts(&whole).1, ["ce_intent", "ce_policy"]);
        assert!(counts(&whole).0 > 20, "{whole:?}");
        imported.put("b.json", pack("ce_policy"));

        // A pack may lack what it had.
        let whole = imported.complete(&names, "b.json", pack("ce_rule"));
        assert_eq!(counts(&whole).1, ["ce_intent", "ce_rule"]);

        assert_eq!(imported.remove_absent(&names[1..]), ["a.json"]);
        let whole = imported.complete(&names[1..], "", pack("ce_verbose"));
        assert_eq!(counts(&whole).1, ["ce_policy", "ce_verbose"]);
    }
    #[test]
    fn tables_of_a_database_that_is_used_elsewhere_stay() {
        let imported = ImportedPacks::new(false);
        assert_eq!(counts(&imported.complete(&["a.json".to_owned()], "a.json", pack("ce_intent"))), (1, vec!["ce_intent"]));
    }
}
