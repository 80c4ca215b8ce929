//! Names of tools, made from ids of assistants.

use sha2::{Digest, Sha256};

/// The name of the tool of the table configuration.
pub const TABLES: &str = "ask_tables";

/// Maximum characters of a name, as some clients accept no more.
const MAX_CHARS: usize = 64;

/// The name of the tool of an assistant. It stays the same whichever other assistants there are: an id that is no name as it is gets a
/// digest at its end.
pub fn ask_name(id: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let name = format!("ask_{}", id.replace(|it| !is_plain(it), "_"));
    if name.ends_with(id) && name.len() <= MAX_CHARS && name != TABLES {
        return name;
    }
    let digest = Sha256::digest(id.as_bytes());
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
        assert_eq!((ask_name("shop").as_str(), ask_name("my-bot_2").as_str()), ("ask_shop", "ask_my-bot_2"));
        let long = "a".repeat(63);
        let ids = ["shop", "a.b", "a_b", "a-b", "tables", "\u{e4}", "\u{f6}", &long, &format!("{long}b")];
        let names: BTreeSet<String> = ids.iter().map(|it| ask_name(it)).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
        assert!(!names.contains(TABLES));
        let is_name = |it: &String| it.len() <= MAX_CHARS && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
        assert!(names.iter().all(is_name), "{names:?}");
    }
}
