//! Lint and what else a person needs who edits a pack, apart from the engine: a page loads it when something is edited.

mod document;

use convengine_core::config::TextMatcher;
use convengine_core::pack::Pack;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::{js_error, parse, serialize, to_text};

/// Returns all issues of a pack as a JSON list: first those of compiling, then those of lint. Throws an error with code `NOT_A_PACK` if the
/// text is not a pack.
#[wasm_bindgen]
pub fn lint(pack: &str) -> Result<String, JsValue> {
    let pack = parse_pack(pack)?;
    if pack.flow_document().is_some() {
        return to_text(&document::issues(&pack));
    }
    let (config, issues) = pack.compile();
    let found = convengine_core::lint::check(&pack.tables, config.settings.profile, &issues);
    let of_script = pack.script_issues();
    serialize(&issues.iter().chain(&found).chain(&of_script).collect::<Vec<_>>())
}

/// Reports on the classifiers of a pack: how well the phrases of each flow document, and the example rows, tell their intents apart. JSON:
/// a list of reports by name.
#[wasm_bindgen(js_name = classifierReports)]
pub fn classifier_reports(pack: &str) -> Result<String, JsValue> {
    serialize(&parse_pack(pack)?.classifier_reports())
}

/// Matches a row's pattern against a JSON list of texts; returns a JSON list of booleans, with `null` where matching exceeds its step
/// limit. `rule_type` is `REGEX`, `EXACT`, `CONTAINS` or `STARTS_WITH`.
#[wasm_bindgen(js_name = matchPattern)]
pub fn match_pattern(rule_type: &str, pattern: &str, texts: &str) -> Result<String, JsValue> {
    let texts: Vec<String> = parse("list of texts", texts)?;
    let compiled = TextMatcher::compile(rule_type, pattern).unwrap_or_else(|| Err(format!("unknown rule type '{rule_type}'")));
    let matcher = compiled.map_err(|it| js_error("PATTERN", &it))?;
    serialize(&texts.iter().map(|it| matcher.matches(it, &it.to_lowercase()).ok()).collect::<Vec<_>>())
}

fn parse_pack(text: &str) -> Result<Pack, JsValue> {
    Pack::parse(text).map_err(|it| js_error("NOT_A_PACK", &it.to_string()))
}
