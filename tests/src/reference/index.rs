//! `README.md`: the index of the reference.

use std::fs;

use anyhow::{Context, Result};

use super::Page;
use super::markdown::table;
use crate::root;

/// Summaries of the pages that are written by hand.
const WRITTEN: [(&str, &str); 10] = [
    ("packs.md", "the file format of packs"),
    ("talks.md", "the text form of conversations with expectations"),
    ("templates.md", "templates of rows and of flow documents"),
    ("expressions.md", "conditions and values of flow documents"),
    ("entities.md", "built-in and own kinds of values, and what they accept"),
    ("json-paths.md", "paths into JSON, in rules and in outputs"),
    ("values.md", "what values mean: truth, equality, order, arithmetic and text"),
    ("matching.md", "how messages are matched"),
    ("repair.md", "what happens when people correct themselves, go back, leave or ask why"),
    ("engine-texts.md", "what the engine itself says, in which languages, and how to word it"),
];

/// Generates the index.
///
/// # Errors
/// If a page cannot be read, or a page in the folder has no summary.
pub(super) fn text(pages: &[Page]) -> Result<String> {
    let folder = root().join("docs/reference");
    let mut rows = Vec::new();
    for (file, summary) in WRITTEN.iter().filter(|page| folder.join(page.0).is_file()) {
        let text = fs::read_to_string(folder.join(file)).with_context(|| (*file).to_owned())?;
        let title = text.lines().find_map(|it| it.strip_prefix("# ")).with_context(|| format!("{file} has no title"))?;
        rows.push(vec![format!("[{title}]({file})"), (*summary).to_owned(), String::new()]);
    }
    rows.extend(pages.iter().map(|page| vec![format!("[{}]({})", page.title, page.file), page.summary.to_owned(), "generated".to_owned()]));
    let known = |name: &str| name == "README.md" || WRITTEN.iter().any(|page| page.0 == name) || pages.iter().any(|page| page.file == name);
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        anyhow::ensure!(
            !name.ends_with(".md") || known(&name),
            "docs/reference/{name} has no summary; add it to tests/src/reference/index.rs"
        );
    }
    let intro = "Facts to look up. Tasks are in the [guide](../guide/README.md), exact behaviour in the [specification](../spec/README.md), terms\n\
                 in the [glossary](../glossary.md). Commands and options are in [the interface](../spec/interface.md), endpoints in `/openapi.json`.\n\
                 JSON Schemas are printed by `convengine schema pack`, `convengine schema flow` and `convengine schema agent`, and served at `/schemas`.\n\n\
                 Generated pages are written by `cargo xtask docs`.";
    let pages = table(&["Page", "Holds", "Source"], &rows);
    Ok(format!("# Reference\n\n{}\n\n{intro}\n\n{}", super::GENERATED, pages))
}
