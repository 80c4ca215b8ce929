//! Guardrails of AI agents: what they may do, and what they may say. (docs/spec/flows.md#10.6)

use convengine_derive::Described;
use convengine_text::personal_data::{PersonalData, mask_personal_data};
use convengine_text::phrase::Phrase;
use convengine_text::regex::Regex;

use super::FlowCondition;

/// The variable that tells whether the user is verified.
const VERIFIED: &str = "user.verified";

/// Microcents per cent.
const MICROCENTS_PER_CENT: u64 = 1_000_000;

/// What is written in place of a text that fits a pattern.
const REDACTED: &str = "[redacted]";

/// A guardrail.
#[derive(Debug, Clone, Described)]
#[described(definition = "Guardrail", role = Item)]
pub struct Guardrail {
    /// Its id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Whether it is enabled.
    #[member(default = true)]
    pub enabled: bool,
    /// Its kind, with its configuration.
    #[member(kinds)]
    pub kind: GuardrailKind,
}

/// The kind of a guardrail.
#[derive(Debug, Clone, Described)]
#[described(tag = "kind", content = "config")]
pub enum GuardrailKind {
    /// Protected tools are called only while the condition is true.
    #[kind(name = "AUTH", from = AuthDef, optional)]
    Auth(Box<FlowCondition>),
    /// Tools are called only so often.
    #[kind(name = "LIMIT")]
    Limit(CallLimit),
    /// Models and tools are called only while the conversation has cost less than this.
    // In microcents.
    #[kind(name = "BUDGET", from = BudgetDef)]
    Budget(u64),
    /// Parts of replies are masked.
    #[kind(name = "REDACT", from = RedactDef, optional)]
    Redact(ReplyMask),
    /// The conversation is handed over to a person.
    #[kind(name = "ESCALATE", from = EscalateDef)]
    Escalate(Escalation),
}

/// A limit of tool calls.
#[derive(Debug, Clone, Described)]
pub struct CallLimit {
    /// Maximum calls.
    #[member(required, shape = COUNT)]
    pub max_calls: u32,
    /// Which calls are counted.
    pub per: CountedCalls,
    /// The counted tools; all when empty.
    #[member(each = ID, meaning = Names(Tool))]
    pub tools: Vec<String>,
}

/// Which calls count towards a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum CountedCalls {
    /// Those after a message of the user.
    #[default]
    Turn,
    /// Those of the whole conversation.
    Conversation,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Described)]
pub enum Refusal {
    /// The user is not verified.
    AuthRequired,
    /// A limit is reached.
    Limit,
    /// The budget is used up.
    Budget,
}

impl Guardrail {
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

/// The configuration of `AUTH`.
#[derive(Debug, Clone, Described)]
struct AuthDef {
    /// The variable that must be true.
    #[member(documented_default = r#""user.verified""#, shape = PATH, meaning = Reads)]
    variable: Option<String>,
    /// A condition that must be true instead.
    #[member(shape = EXPRESSION, meaning = Condition)]
    expr: Option<String>,
}

/// The configuration of `BUDGET`.
#[derive(Debug, Clone, Described)]
struct BudgetDef {
    /// What a conversation may cost, in cents.
    #[member(required, shape = COUNT)]
    max_cents: u64,
}

/// The configuration of `REDACT`.
#[derive(Debug, Clone, Described)]
struct RedactDef {
    /// The kinds of personal data that are masked; all without it.
    kinds: Option<Vec<MaskedData>>,
    /// Regular expressions of what is masked.
    #[member(each = NON_EMPTY, meaning = Regex)]
    patterns: Vec<String>,
}

/// A kind of personal data that a guardrail masks.
#[derive(Debug, Clone, Copy, Described)]
enum MaskedData {
    /// Addresses of e-mail.
    Email,
    /// Telephone numbers.
    Phone,
    /// Numbers of payment cards.
    Card,
    /// Numbers of bank accounts.
    Iban,
}

/// The configuration of `ESCALATE`.
#[derive(Debug, Clone, Described)]
struct EscalateDef {
    /// Words, in messages of the user or in replies.
    #[member(each = NON_EMPTY)]
    keywords: Vec<String>,
    /// Refusals by other guardrails.
    on: Vec<Refusal>,
}

impl From<AuthDef> for GuardrailKind {
    fn from(definition: AuthDef) -> GuardrailKind {
        let is_true = || format!("{} == true", definition.variable.as_deref().unwrap_or(VERIFIED));
        let condition = definition.expr.clone().unwrap_or_else(is_true);
        GuardrailKind::Auth(Box::new(FlowCondition::from(condition.as_str())))
    }
}

impl From<BudgetDef> for GuardrailKind {
    fn from(definition: BudgetDef) -> GuardrailKind {
        GuardrailKind::Budget(definition.max_cents.saturating_mul(MICROCENTS_PER_CENT))
    }
}

impl From<RedactDef> for GuardrailKind {
    fn from(definition: RedactDef) -> GuardrailKind {
        let kinds =
            definition.kinds.map_or_else(|| PersonalData::ALL.to_vec(), |kinds| kinds.into_iter().map(PersonalData::from).collect());
        GuardrailKind::Redact(ReplyMask { kinds, patterns: definition.patterns.iter().map(|it| Regex::new_linear(it)).collect() })
    }
}

impl From<MaskedData> for PersonalData {
    fn from(kind: MaskedData) -> PersonalData {
        match kind {
            MaskedData::Email => PersonalData::Email,
            MaskedData::Phone => PersonalData::Phone,
            MaskedData::Card => PersonalData::Card,
            MaskedData::Iban => PersonalData::Iban,
        }
    }
}

impl From<EscalateDef> for GuardrailKind {
    fn from(definition: EscalateDef) -> GuardrailKind {
        let keywords = definition.keywords.into_iter().map(|keyword| (keyword.clone(), Phrase::without_accents(&keyword))).collect();
        GuardrailKind::Escalate(Escalation { keywords, on: definition.on })
    }
}

impl ReplyMask {
    /// Masks a text. Where a pattern takes too many steps, nothing of the text is left.
    pub fn mask(&self, text: &str) -> String {
        let masked = mask_personal_data(text, &self.kinds);
        self.patterns.iter().filter_map(|pattern| pattern.as_ref().ok()).fold(masked, |text, pattern| {
            match pattern.replace(&text, REDACTED) {
                Ok(replaced) => replaced.unwrap_or(text),
                Err(_) => REDACTED.to_owned(),
            }
        })
    }
}
