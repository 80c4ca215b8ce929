//! Names of tools, made from the keys of documents.

use sha2::{Digest, Sha256};

use convengine_storage::assistant::ProgramKey;

/// The name of the tool of the table configuration.
pub const TABLES: &str = "ask_tables";

/// Maximum characters of a name, as some clients accept no more.
const MAX_CHARS: usize = 64;

/// The name of the tool of a document. It stays the same whichever other documents there are: an id that is not a valid name gets a digest
/// at its end, as does the key of a workflow or an AI agent.
pub fn ask_name(program: &ProgramKey) -> String {
    let key = program.as_str();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let name = format!("ask_{}", key.replace(|it| !is_plain(it), "_"));
    if name.ends_with(key) && name.len() <= MAX_CHARS && name != TABLES {
        return name;
    }
    let digest = Sha256::digest(key.as_bytes());
    let digest: String = digest.iter().take(4).map(|it| format!("{it:02x}")).collect();
    let kept: String = name.chars().take(MAX_CHARS - 1 - digest.len()).collect();
    format!("{kept}_{digest}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_fit() {
        let ask_name = |key: &str| ask_name(&ProgramKey::parse(key));
        assert_eq!((ask_name("shop").as_str(), ask_name("my-bot_2").as_str()), ("ask_shop", "ask_my-bot_2"));
        assert!(ask_name("workflow:shop").starts_with("ask_workflow_shop_"), "{}", ask_name("workflow:shop"));
        let long = "a".repeat(63);
        let ids = [
            "shop",
            "workflow:shop",
            "workflow_shop",
            "agent:shop",
            "a.b",
            "a_b",
            "a-b",
            "tables",
            "\u{e4}",
            "\u{f6}",
            &long,
            &format!("{long}b"),
        ];
        let names: BTreeSet<String> = ids.iter().map(|it| ask_name(it)).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
        assert!(!names.contains(TABLES));
        let is_name = |it: &String| it.len() <= MAX_CHARS && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        assert!(names.iter().all(is_name), "{names:?}");
    }
}
