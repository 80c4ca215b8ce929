//! Guardrails of AI agents: what they may do, and what they may say. (docs/spec/flows.md#10.6)

use convengine_text::personal_data::{PersonalData, mask_personal_data};
use convengine_text::phrase::Phrase;
use convengine_text::regex::Regex;

use super::FlowCondition;
use super::fields::Fields;

/// The variable that tells whether the user is verified.
const VERIFIED: &str = "user.verified";

/// Microcents per cent.
const MICROCENTS_PER_CENT: u64 = 1_000_000;

/// What is written in place of a text that fits a pattern.
const REDACTED: &str = "[redacted]";

/// A guardrail.
#[derive(Debug, Clone)]
pub struct Guardrail {
    /// Its id.
    pub id: String,
    /// Its kind, with its configuration.
    pub kind: GuardrailKind,
}

/// The kind of a guardrail.
#[derive(Debug, Clone)]
pub enum GuardrailKind {
    /// Protected tools are called only while the condition is true.
    Auth(Box<FlowCondition>),
    /// Tools are called only so often.
    Limit(CallLimit),
    /// Models and tools are called only while the conversation has cost less than this, in microcents.
    Budget(u64),
    /// Parts of replies are masked.
    Redact(ReplyMask),
    /// The conversation is handed over to a person.
    Escalate(Escalation),
}

/// A limit of tool calls.
#[derive(Debug, Clone)]
pub struct CallLimit {
    /// Maximum calls.
    pub max_calls: u32,
    /// Whether calls of the whole conversation are counted, and not only those after a message of the user.
    pub is_per_conversation: bool,
    /// The counted tools; all when empty.
    pub tools: Vec<String>,
}

/// What is masked in replies.
#[derive(Debug, Clone)]
pub struct ReplyMask {
    /// Personal data.
    pub kinds: Vec<PersonalData>,
    /// Patterns; invalid ones are reported on publishing.
    pub patterns: Vec<Result<Regex, String>>,
}

/// When a conversation is handed over.
#[derive(Debug, Clone)]
pub struct Escalation {
    /// Words, in messages of the user or in replies.
    pub keywords: Vec<(String, Phrase)>,
    /// Refusals by other guardrails.
    pub on: Vec<Refusal>,
}

/// Why a guardrail refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The user is not verified.
    AuthRequired,
    /// A limit is reached.
    Limit,
    /// The budget is used up.
    Budget,
}

impl Refusal {
    /// The refusals by their codes.
    pub const BY_CODE: [(&'static str, Refusal); 3] =
        [("auth_required", Refusal::AuthRequired), ("limit", Refusal::Limit), ("budget", Refusal::Budget)];

    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::AuthRequired => "auth_required",
            Refusal::Limit => "limit",
            Refusal::Budget => "budget",
        }
    }
}

impl Guardrail {
    /// Reads a guardrail; `None` for one that is disabled or of an unknown kind, which the structure check reports.
    pub(super) fn read(fields: Fields<'_>) -> Option<Guardrail> {
        if !fields.flag("enabled", true) {
            return None;
        }
        let config = fields.object_or_empty("config");
        let kind = match fields.text("kind")? {
            "AUTH" => GuardrailKind::Auth(Box::new(FlowCondition::from(auth_condition(config).as_str()))),
            "LIMIT" => GuardrailKind::Limit(CallLimit {
                max_calls: config.count_u32("max_calls").unwrap_or(0),
                is_per_conversation: config.text("per") == Some("conversation"),
                tools: config.strings("tools"),
            }),
            "BUDGET" => GuardrailKind::Budget(config.count("max_cents").unwrap_or(0).saturating_mul(MICROCENTS_PER_CENT)),
            "REDACT" => GuardrailKind::Redact(ReplyMask {
                kinds: personal_data(config),
                patterns: config.strings("patterns").iter().map(|it| Regex::new_linear(it)).collect(),
            }),
            "ESCALATE" => GuardrailKind::Escalate(Escalation {
                keywords: config.strings("keywords").into_iter().map(|it| (it.clone(), Phrase::without_accents(&it))).collect(),
                on: config
                    .list("on", |it| Refusal::BY_CODE.iter().find(|known| it.0 == known.0).map(|it| it.1))
                    .into_iter()
                    .flatten()
                    .collect(),
            }),
            _ => return None,
        };
        Some(Guardrail { id: fields.string("id"), kind })
    }

    /// Its kind as written.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            GuardrailKind::Auth(_) => "AUTH",
            GuardrailKind::Limit(_) => "LIMIT",
            GuardrailKind::Budget(_) => "BUDGET",
            GuardrailKind::Redact(_) => "REDACT",
            GuardrailKind::Escalate(_) => "ESCALATE",
        }
    }
}

/// The condition of `AUTH`: `expr`, else that `variable` is true.
fn auth_condition(config: Fields<'_>) -> String {
    match config.text("expr") {
        Some(expr) => expr.to_owned(),
        None => format!("{} == true", config.text("variable").unwrap_or(VERIFIED)),
    }
}

/// The kinds that `REDACT` masks; all of them when it does not say.
fn personal_data(config: Fields<'_>) -> Vec<PersonalData> {
    let names =
        [("email", PersonalData::Email), ("phone", PersonalData::Phone), ("card", PersonalData::Card), ("iban", PersonalData::Iban)];
    if config.value("kinds").is_none() {
        return PersonalData::ALL.to_vec();
    }
    let kinds = config.strings("kinds");
    names.into_iter().filter(|it| kinds.iter().any(|kind| kind == it.0)).map(|it| it.1).collect()
}

impl ReplyMask {
    /// Masks a text. Where a pattern takes too many steps, nothing of the text is left.
    pub fn mask(&self, text: &str) -> String {
        let masked = mask_personal_data(text, &self.kinds);
        self.patterns.iter().filter_map(|it| it.as_ref().ok()).fold(masked, |text, it| match it.replace(&text, REDACTED) {
            Ok(replaced) => replaced.unwrap_or(text),
            Err(_) => REDACTED.to_owned(),
        })
    }
}
