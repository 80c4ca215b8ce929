//! Lint and what else a person needs who edits a pack, apart from the engine: a page loads it when something is edited.

mod document;

use convengine_core::config::TextMatcher;
use convengine_core::pack::Pack;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::types::Issue;
use crate::{js_error, serialize, to_object};

/// Returns all issues of a pack: first those of compiling, then those of lint. Throws an error with code `NOT_A_PACK` if the text is not a
/// pack.
#[wasm_bindgen(unchecked_return_type = "Issue[]")]
pub fn lint(pack: &str) -> Result<JsValue, JsValue> {
    to_object(&find_issues(&parse_pack(pack)?))
}

/// Finds all issues of a pack: first those of compiling, then those of lint.
pub fn find_issues(pack: &Pack) -> Vec<Issue> {
    if pack.flow_document().is_some() {
        return document::find_issues(pack);
    }
    let (config, issues) = pack.compile();
    let found = convengine_core::lint::check_with_replies(&pack.tables, config.settings.profile, &issues, &pack.known_replies());
    issues.into_iter().chain(found).chain(pack.script_issues()).map(Issue::from).collect()
}

/// Reports on the classifiers of a pack: how well the phrases of each flow document, and the example rows, tell their intents apart. JSON
/// text, which is compared byte by byte: a list of reports by name.
#[wasm_bindgen(js_name = classifierReports)]
pub fn classifier_reports(pack: &str) -> Result<String, JsValue> {
    serialize(&parse_pack(pack)?.classifier_reports())
}

/// Returns the JSON Schema of the documents that say `doc` of themselves, such as `workflow_chain`, as JSON text. A page makes the forms for
/// their parts from it. Throws an error with code `BAD_INPUT` for another word.
#[wasm_bindgen(js_name = documentSchema)]
pub fn document_schema(doc: &str) -> Result<String, JsValue> {
    let unknown = || js_error("BAD_INPUT", &format!("unknown kind of documents '{doc}'"));
    serialize(&convengine_core::config::flow::document_schema(doc).ok_or_else(unknown)?)
}

/// Matches a row's pattern against texts; `null` where matching exceeds its step limit. `rule_type` is `REGEX`, `EXACT`, `CONTAINS` or
/// `STARTS_WITH`.
#[wasm_bindgen(js_name = matchPattern, unchecked_return_type = "(boolean | null)[]")]
pub fn match_pattern(rule_type: &str, pattern: &str, texts: Vec<String>) -> Result<JsValue, JsValue> {
    to_object(&match_texts(rule_type, pattern, &texts).map_err(|it| js_error("PATTERN", &it))?)
}

/// Matches a row's pattern against texts; `None` where matching exceeds its step limit.
///
/// # Errors
/// The reason if the pattern cannot be compiled.
pub fn match_texts(rule_type: &str, pattern: &str, texts: &[String]) -> Result<Vec<Option<bool>>, String> {
    let compiled = TextMatcher::compile(rule_type, pattern).unwrap_or_else(|| Err(format!("unknown rule type '{rule_type}'")));
    let matcher = compiled?;
    Ok(texts.iter().map(|text| matcher.matches(text, &text.to_lowercase()).ok()).collect())
}

fn parse_pack(text: &str) -> Result<Pack, JsValue> {
    Pack::parse(text).map_err(|error| js_error("NOT_A_PACK", &error.to_string()))
}
