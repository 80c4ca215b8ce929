//! `ce_response`: responses by intent and state. (docs/spec/data-and-api.md#5.1)

use convengine_derive::Described;
use convengine_text::template::Template;
use convengine_turn::{Candidate, Verdict};
use serde_json::Value;

use super::code::{ANY, is_same_code, mismatch_reason, to_upper_code};
use super::column::{
    CREATED_AT, DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, json, keyword, template, text, word,
};
use super::flow::shape::Keyword;
use super::issue::Issue;
use super::profile::Profile;
use super::row::TableRow;
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub(crate) static RESPONSE: TableShape = TableShape {
    name: "ce_response",
    help: "Answers. The best score wins ([selection](../spec/data-and-api.md#5.1)).",
    columns: &[
        integer("response_id", "id of the row"),
        INTENT_CODE,
        STATE_CODE,
        keyword::<OutputFormat>("output_format", ""),
        word("response_type", &["EXACT", "DERIVED"], "`EXACT` (also `TEXT`) or `DERIVED`"),
        template("exact_text", "template of an EXACT answer"),
        text("derivation_hint", "appended to the prompt of a DERIVED answer, verbatim"),
        json("json_schema", "schema sent with a DERIVED JSON answer"),
        PRIORITY.with_help("part of the score ([5.1](../spec/data-and-api.md#5.1)); null is 999,999").with_default("100"),
        DESCRIPTION,
        ENABLED,
        CREATED_AT,
    ],
};

/// Subtracted from the priority of a row of the state itself.
const OWN_STATE_BONUS: i64 = 1000;

/// Subtracted from the priority of a row of any state.
const ANY_STATE_BONUS: i64 = 10;

/// The output format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Described)]
pub enum OutputFormat {
    /// Text to show.
    #[kind("TEXT")]
    Text,
    /// JSON for the client.
    #[kind("JSON")]
    Json,
}

impl OutputFormat {
    /// The name in tables and audits.
    pub fn name(self) -> &'static str {
        self.keyword()
    }
}

/// How a response is produced.
#[derive(Debug, Clone)]
pub enum ResponseSource {
    /// From the text of the row.
    Exact(Template),
    /// By a model, from a prompt template of the same format.
    Derived {
        /// `derivation_hint`, appended verbatim to the prompt.
        hint: String,
        /// `json_schema`.
        schema: Option<Value>,
    },
}

/// A response row.
#[derive(Debug, Clone)]
pub struct Response {
    /// `response_id`.
    pub id: i64,
    /// The intent, in upper case.
    pub intent: String,
    /// The state, in upper case.
    pub state: String,
    /// The output format.
    pub format: OutputFormat,
    /// `output_format` as stored.
    pub format_name: String,
    /// `response_type` as stored.
    pub type_name: String,
    /// How the response is produced.
    pub source: ResponseSource,
    /// The lowest wins; null is last.
    pub priority: i64,
    /// Breaks ties: the first in the table wins.
    position: usize,
}

/// Response rows by intent and state.
#[derive(Debug, Clone, Default)]
pub struct Responses(ScopeIndex<Response>);

impl Responses {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, profile: &Profile, issues: &mut Vec<Issue>) -> Responses {
        let rows = scopes.rows(tables, &RESPONSE, issues);
        Responses(ScopeIndex::compile(&rows, issues, |row, issues| compile(row, profile, issues)))
    }

    /// Returns the response for an intent and a state: a row of the intent, else of `ANY`; the best score wins, then the first.
    pub fn select(&self, intent: &str, state: &str) -> Option<&Response> {
        self.best(intent, state).or_else(|| self.best(ANY, state))
    }

    fn best(&self, intent: &str, state: &str) -> Option<&Response> {
        let own = self.0.rows_at(intent, state).iter().map(|it| (OWN_STATE_BONUS, it));
        let any = self.0.rows_at(intent, ANY).iter().map(|it| (ANY_STATE_BONUS, it));
        own.chain(any).min_by_key(|(closeness, it)| it.rank(*closeness)).map(|it| it.1)
    }

    /// Returns the verdict on each row for an intent and a state: the selected row, those that lose by score, then the others.
    pub fn candidates(&self, intent: &str, state: &str) -> Vec<Candidate> {
        let chosen = self.select(intent, state);
        let mut fitting: Vec<(i64, &Response)> = self
            .0
            .entries()
            .filter(|&(scope, _)| mismatch_reason(scope, intent, state).is_none())
            .map(|((_, own), row)| (if is_same_code(own, state) { OWN_STATE_BONUS } else { ANY_STATE_BONUS }, row))
            .collect();
        // The selected row first, then the rows it competed with.
        let other_intent = |row: &Response| chosen.is_some_and(|chosen| chosen.intent != row.intent);
        fitting.sort_by_key(|(closeness, row)| (other_intent(row), row.rank(*closeness)));
        let best = fitting.first().map(|(closeness, it)| it.rank(*closeness));
        let judged = fitting.into_iter().map(|(closeness, row)| {
            let (score, position) = row.rank(closeness);
            let formula = format!("priority {} - {closeness} for the closeness of its state = {score}", row.priority);
            let (verdict, reason) = match best {
                Some((_, first)) if first == position => (Verdict::Won, formula),
                Some(_) if other_intent(row) => (Verdict::Lost, "applies only when the intent has no row".to_owned()),
                // On a tie, the first in the table wins.
                Some((best, first)) => {
                    let winning = best.saturating_add(closeness).saturating_sub(i64::from(position > first));
                    (Verdict::Lost, format!("{formula}, and the lowest wins: priority {winning} would"))
                }
                None => (Verdict::NotMatched, formula),
            };
            Candidate { score: score.into(), ..row.candidate(verdict).with_reason(reason) }
        });
        judged.chain(self.0.out_of_scope(intent, state, Response::candidate)).collect()
    }
}

impl Response {
    /// The sort key, of which the lowest wins: score, then table position.
    fn rank(&self, closeness: i64) -> (i64, usize) {
        (self.priority.saturating_sub(closeness), self.position)
    }

    fn candidate(&self, verdict: Verdict) -> Candidate {
        let what = match &self.source {
            ResponseSource::Exact(template) => template.source(),
            ResponseSource::Derived { hint, .. } => hint,
        };
        Candidate::for_row("ce_response", self.id, what, verdict)
    }
}

fn compile(row: &TableRow<'_>, profile: &Profile, issues: &mut Vec<Issue>) -> Result<Response, Issue> {
    let output_format = row.code("output_format").unwrap_or_default();
    let Some(format) = OutputFormat::from_keyword(&to_upper_code(&output_format)) else {
        return Err(row.error("output_format", row.unknown_word("output_format"), "the format is one of these"));
    };
    Ok(Response {
        id: row.id(),
        intent: row.code_or_any("intent_code"),
        state: row.code_or_any("state_code"),
        format,
        format_name: output_format,
        type_name: row.code("response_type").unwrap_or_default(),
        source: compile_source(row, profile, issues)?,
        priority: row.integer("priority").unwrap_or(999_999),
        position: row.position(),
    })
}

fn compile_source(row: &TableRow<'_>, profile: &Profile, issues: &mut Vec<Issue>) -> Result<ResponseSource, Issue> {
    let response_type = row.code("response_type").unwrap_or_default();
    match to_upper_code(&response_type).as_str() {
        // Older databases spell EXACT as TEXT. (docs/decisions/0040-accepted-spellings.md)
        "EXACT" | "TEXT" if profile.has_literal_texts => Ok(ResponseSource::Exact(compile_literal(row, profile, issues))),
        "EXACT" | "TEXT" => row.template("exact_text").map(ResponseSource::Exact),
        "DERIVED" => {
            let schema = row.text("json_schema").filter(|text| !text.trim().is_empty());
            let schema = schema.map(|it| serde_json::from_str(&it)).transpose();
            let invalid = |error: serde_json::Error| row.error("json_schema", format!("is not JSON: {error}"), "the schema is corrected");
            Ok(ResponseSource::Derived { hint: row.text("derivation_hint").unwrap_or_default(), schema: schema.map_err(invalid)? })
        }
        _ => Err(row.error("response_type", row.unknown_word("response_type"), "the type is one of these")),
    }
}

/// A literal text, with a warning when it looks like a template.
fn compile_literal(row: &TableRow<'_>, profile: &Profile, issues: &mut Vec<Issue>) -> Template {
    let text = row.text("exact_text").unwrap_or_default();
    if Template::compile(&text).is_ok_and(|template| template.literal().is_none()) {
        let reason = format!("the profile '{}' shows the text verbatim, without filling in values", profile.name);
        issues.push(Issue::warning(row.path("exact_text"), reason, profile.hint("let a model write the response (DERIVED)")));
    }
    Template::from_text(&text)
}
