//! The typed form of the steps of a chain. (docs/spec/chains.md#7)

use convengine_text::expr::Expr;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::super::fields::Fields;
use super::super::{FlowCondition, FlowTemplate, OutputMapping, Param, ProgramKind, Retry, ValueTemplate};
use super::ScheduleTimes;

/// How long an inbound webhook is awaited by default, in milliseconds: a day.
const AWAIT_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

/// Default timeout of an outbound webhook, in milliseconds.
const WEBHOOK_TIMEOUT_MS: u32 = 10_000;

/// A step.
#[derive(Debug, Clone)]
pub struct StepDef {
    /// Its id.
    pub id: String,
    /// Its kind, as written.
    pub kind_name: String,
    /// Its label.
    pub label: String,
    /// What it does.
    pub kind: StepKind,
    /// Its retry policy, when it has one.
    pub retry: Option<Retry>,
    /// What happens when it fails.
    pub on_error: StepOnError,
    /// The branch that runs when it fails.
    pub error_branch: Option<String>,
    /// Whether it is skipped.
    pub disabled: bool,
}

/// What happens when a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOnError {
    /// The run fails.
    Fail,
    /// The run continues, and the output is null.
    Continue,
    /// The error branch runs.
    Branch,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Talks to an assistant or an AI agent.
    Program(ProgramStep),
    /// Calls a service.
    Outbound(Box<OutboundStep>),
    /// Awaits a signed call.
    Inbound(InboundStep),
    /// Awaits a decision of a person.
    Human(HumanStep),
    /// Chooses a branch.
    Decide(DecideStep),
    /// Notifies people or services.
    Notify(NotifyStep),
    /// Sleeps.
    Sleep(SleepStep),
}

/// Config of `assistant` and `agent`.
#[derive(Debug, Clone)]
pub struct ProgramStep {
    /// An assistant or an AI agent.
    pub kind: ProgramKind,
    /// Its id or name.
    pub target: String,
    /// What is said to it; the previous output by default.
    pub input: Option<FlowTemplate>,
    /// Whether the step lasts until the conversation is complete.
    pub is_until_done: bool,
    /// The variable that receives the output.
    pub output: Option<VariablePath>,
}

/// Config of an outbound `webhook`.
#[derive(Debug, Clone)]
pub struct OutboundStep {
    /// The URL.
    pub url: FlowTemplate,
    /// The method.
    pub method: String,
    /// The headers.
    pub headers: Vec<(String, FlowTemplate)>,
    /// The body; a standard one by default.
    pub body: Option<ValueTemplate>,
    /// The secret that signs it.
    pub secret: Option<String>,
    /// Mappings of the response to variables.
    pub outputs: Vec<OutputMapping>,
    /// Timeout of an attempt, in milliseconds.
    pub timeout_ms: u32,
    /// The variable that receives the output.
    pub output: Option<VariablePath>,
}

/// Config of an inbound `webhook`.
#[derive(Debug, Clone)]
pub struct InboundStep {
    /// The secret that signs the call.
    pub secret: Option<String>,
    /// How long it is awaited, in milliseconds.
    pub await_timeout_ms: u64,
    /// Mappings of the body to variables.
    pub outputs: Vec<OutputMapping>,
    /// The variable that receives the output.
    pub output: Option<VariablePath>,
}

/// Config of `human`.
#[derive(Debug, Clone)]
pub struct HumanStep {
    /// The question.
    pub prompt: FlowTemplate,
    /// URLs and e-mail addresses that are notified, and labels.
    pub assignees: Vec<String>,
    /// The fields to fill in.
    pub form: Vec<Param>,
    /// The possible decisions; any when empty.
    pub options: Vec<String>,
    /// How long the decision is awaited, in milliseconds.
    pub expires_ms: Option<u64>,
    /// What happens then.
    pub on_expire: OnExpire,
    /// The variable that receives the output.
    pub output: Option<VariablePath>,
}

/// What happens when a decision is not made in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExpire {
    /// The step fails.
    Fail,
    /// The step is skipped.
    Continue,
    /// The run is cancelled.
    Cancel,
}

/// Config of `decide`.
#[derive(Debug, Clone)]
pub struct DecideStep {
    /// The text to decide on; that of the previous output by default.
    pub on: Option<FlowTemplate>,
    /// The cases; the first that applies is taken.
    pub cases: Vec<DecideCase>,
    /// The branch to run when none applies.
    pub default: Option<String>,
}

/// A case of a decision.
#[derive(Debug, Clone)]
pub struct DecideCase {
    /// Words of which the text contains one.
    pub words: Vec<String>,
    /// A condition.
    pub expr: Option<FlowCondition>,
    /// The branch to run.
    pub branch: String,
}

/// Config of `notify`.
#[derive(Debug, Clone)]
pub struct NotifyStep {
    /// `email`, `slack`, `sms`, `webhook` or `log`.
    pub channel: String,
    /// The recipients.
    pub to: Vec<FlowTemplate>,
    /// The subject.
    pub subject: Option<FlowTemplate>,
    /// The text.
    pub text: FlowTemplate,
}

/// Config of `schedule`.
#[derive(Debug, Clone)]
pub struct SleepStep {
    /// Milliseconds.
    pub after_ms: Option<u64>,
    /// An instant in RFC 3339.
    pub at: Option<FlowTemplate>,
    /// The next time of a schedule.
    pub schedule: ScheduleTimes,
}

impl StepDef {
    pub(super) fn read(fields: Fields<'_>) -> Option<StepDef> {
        let kind_name = fields.string("kind");
        let on_error = fields
            .keyword("on_error", &[("fail", StepOnError::Fail), ("continue", StepOnError::Continue), ("branch", StepOnError::Branch)]);
        // A notification that is not delivered does not fail the run.
        let default = if kind_name == "notify" { StepOnError::Continue } else { StepOnError::Fail };
        Some(StepDef {
            id: fields.string("id"),
            kind: StepKind::read(&kind_name, fields.object_or_empty("config"))?,
            kind_name,
            label: fields.string("label"),
            retry: fields.object("retry").map(Retry::read),
            on_error: on_error.unwrap_or(default),
            error_branch: fields.optional_string("error_branch"),
            disabled: fields.flag("disabled", false),
        })
    }
}

impl StepKind {
    fn read(kind: &str, fields: Fields<'_>) -> Option<StepKind> {
        Some(match kind {
            "assistant" => StepKind::Program(ProgramStep::read(ProgramKind::Assistant, "assistant", fields)),
            "agent" => StepKind::Program(ProgramStep::read(ProgramKind::Agent, "agent", fields)),
            "webhook" if fields.text("direction") == Some("inbound") => StepKind::Inbound(InboundStep {
                secret: fields.optional_string("secret"),
                await_timeout_ms: fields.count("await_timeout_ms").unwrap_or(AWAIT_TIMEOUT_MS),
                outputs: fields.list("outputs", OutputMapping::read),
                output: fields.parse_path("output"),
            }),
            "webhook" => StepKind::Outbound(Box::new(OutboundStep::read(fields))),
            "human" => StepKind::Human(HumanStep {
                prompt: fields.template("prompt").unwrap_or_default(),
                assignees: fields.strings("assignees"),
                form: fields.list("form", Param::read),
                options: fields.strings("options"),
                expires_ms: fields.count("expires_ms"),
                on_expire: fields
                    .keyword("on_expire", &[("continue", OnExpire::Continue), ("cancel", OnExpire::Cancel)])
                    .unwrap_or(OnExpire::Fail),
                output: fields.parse_path("output"),
            }),
            "decide" => StepKind::Decide(DecideStep {
                on: fields.template("on"),
                cases: fields.list("cases", DecideCase::read),
                default: fields.optional_string("default"),
            }),
            "notify" => StepKind::Notify(NotifyStep {
                channel: fields.string("channel"),
                to: fields.list("to", |it| FlowTemplate::from(it.0.as_str().unwrap_or_default().to_owned())),
                subject: fields.template("subject"),
                text: fields.template("text").unwrap_or_default(),
            }),
            "schedule" => StepKind::Sleep(SleepStep {
                after_ms: fields.count("after_ms"),
                at: fields.template("at"),
                schedule: ScheduleTimes::read(fields),
            }),
            _ => return None,
        })
    }
}

impl ProgramStep {
    fn read(kind: ProgramKind, target: &str, fields: Fields<'_>) -> ProgramStep {
        ProgramStep {
            kind,
            target: fields.string(target),
            input: fields.template("input"),
            is_until_done: fields.text("mode") == Some("until_done"),
            output: fields.parse_path("output"),
        }
    }
}

impl OutboundStep {
    fn read(fields: Fields<'_>) -> OutboundStep {
        let text = |value: &Value| FlowTemplate::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        OutboundStep {
            url: fields.template("url").unwrap_or_default(),
            method: fields.string_or("method", "POST"),
            headers: fields.members("headers").map(|(name, value)| (name.clone(), text(value))).collect(),
            body: fields.json_template("body"),
            secret: fields.optional_string("secret"),
            outputs: fields.list("outputs", OutputMapping::read),
            timeout_ms: fields.count_u32("timeout_ms").unwrap_or(WEBHOOK_TIMEOUT_MS),
            output: fields.parse_path("output"),
        }
    }
}

impl DecideCase {
    fn read(fields: Fields<'_>) -> DecideCase {
        let expr = fields.text("expr").map(|source| FlowCondition { compiled: Expr::parse_workflow(source), source: source.to_owned() });
        DecideCase { words: fields.strings("match"), expr, branch: fields.string("branch") }
    }
}
