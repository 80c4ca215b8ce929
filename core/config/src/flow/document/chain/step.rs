//! The typed form of the steps of a chain. (docs/spec/chains.md#7)

use convengine_derive::Described;
use convengine_text::expr::Expr;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::super::super::shape::{Described, EXPRESSION, Meaning, Shape, ShapeWithMeaning};
use super::super::{FlowCondition, FlowTemplate, OutputMapping, Param, ProgramKind, Retry, ValueTemplate};
use super::ScheduleTimes;

/// A step.
#[derive(Debug, Clone, Described)]
#[described(definition = "ChainStep", role = Node)]
pub struct StepDef {
    /// Its id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Its label.
    pub label: String,
    /// Its retry policy, when it has one.
    pub retry: Option<Retry>,
    /// What happens when it fails, when it says so.
    #[member(name = "on_error", documented_default = r#""fail""#)]
    own_on_error: Option<StepOnError>,
    /// The branch that runs when it fails.
    #[member(shape = ID, meaning = Names(Branch), shown_if("on_error", "branch"))]
    pub error_branch: Option<String>,
    /// Whether it is skipped.
    pub disabled: bool,
    /// What the step does.
    #[member(name = "kind", tag)]
    pub kind_name: String,
    /// What it does.
    #[member(kinds)]
    pub kind: StepKind,
}

/// What happens when a step fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum StepOnError {
    /// The run fails.
    #[default]
    Fail,
    /// The run continues, and the output is null.
    Continue,
    /// The error branch runs.
    Branch,
}

/// What a step does.
#[derive(Debug, Clone, Described)]
#[described(tag = "kind", content = "config")]
pub enum StepKind {
    /// Talks to an assistant or an AI agent.
    #[kind(name = "assistant", from = AssistantDef)]
    #[kind(name = "agent", from = AgentDef)]
    Program(ProgramStep),
    /// Calls a service, or with the direction `inbound` awaits a signed call.
    #[kind(name = "webhook", from = WebhookDef)]
    Outbound(Box<OutboundStep>),
    /// Awaits a signed call.
    #[kind(unwritten)]
    Inbound(InboundStep),
    /// Awaits a decision of a person.
    Human(HumanStep),
    /// Chooses a branch.
    Decide(DecideStep),
    /// Notifies people or services.
    Notify(NotifyStep),
    /// Waits for a time.
    #[kind(name = "schedule")]
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
#[derive(Debug, Clone, Described)]
pub struct HumanStep {
    /// The question.
    #[member(required, multiline)]
    pub prompt: FlowTemplate,
    /// URLs and e-mail addresses that are notified, and labels.
    #[member(each = NON_EMPTY)]
    pub assignees: Vec<String>,
    /// The fields to fill in.
    pub form: Vec<Param>,
    /// The possible decisions; any when empty.
    #[member(each = NON_EMPTY)]
    pub options: Vec<String>,
    /// How long the decision is awaited, in milliseconds.
    #[member(shape = POSITIVE)]
    pub expires_ms: Option<u64>,
    /// What happens then.
    pub on_expire: OnExpire,
    /// The variable that receives the output.
    #[member(meaning = Writes)]
    pub output: Option<VariablePath>,
}

/// What happens when a decision is not made in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum OnExpire {
    /// The step fails.
    #[default]
    Fail,
    /// The step is skipped.
    Continue,
    /// The run is cancelled.
    Cancel,
}

/// Config of `decide`.
#[derive(Debug, Clone, Described)]
pub struct DecideStep {
    /// The text to decide on; that of the previous output by default.
    pub on: Option<FlowTemplate>,
    /// The cases; the first that applies is taken.
    #[member(required)]
    pub cases: Vec<DecideCase>,
    /// The branch to run when none applies.
    #[member(shape = ID, meaning = Names(Branch))]
    pub default: Option<String>,
}

/// A case of a decision.
#[derive(Debug, Clone, Described)]
pub struct DecideCase {
    /// Words of which the text contains one.
    #[member(name = "match", each = NON_EMPTY)]
    pub words: Vec<String>,
    /// A condition.
    #[member(from = WorkflowCondition)]
    pub expr: Option<FlowCondition>,
    /// The branch to run.
    #[member(required, shape = ID, meaning = Names(Branch))]
    pub branch: String,
}

/// A condition in the dialect of workflow graphs.
struct WorkflowCondition(FlowCondition);

impl Described for WorkflowCondition {
    const SHAPE: Shape = Shape::WithMeaning(&ShapeWithMeaning { shape: EXPRESSION, meaning: Meaning::WorkflowCondition });

    fn read(value: &Value) -> Option<WorkflowCondition> {
        value.as_str().map(|source| WorkflowCondition(FlowCondition { compiled: Expr::parse_workflow(source), source: source.to_owned() }))
    }
}

impl From<WorkflowCondition> for FlowCondition {
    fn from(condition: WorkflowCondition) -> FlowCondition {
        condition.0
    }
}

/// Config of `notify`.
#[derive(Debug, Clone, Described)]
pub struct NotifyStep {
    /// Where it is sent.
    #[member(required, shape = Enum(&["email", "slack", "sms", "webhook", "log"]))]
    pub channel: String,
    /// The recipients.
    pub to: Vec<FlowTemplate>,
    /// The subject.
    pub subject: Option<FlowTemplate>,
    /// The text.
    #[member(required, multiline)]
    pub text: FlowTemplate,
}

/// Config of `schedule`.
#[derive(Debug, Clone, Described)]
pub struct SleepStep {
    /// Milliseconds.
    #[member(shape = POSITIVE)]
    pub after_ms: Option<u64>,
    /// An instant in RFC 3339.
    pub at: Option<FlowTemplate>,
    /// The next time of a schedule.
    #[member(flatten)]
    pub schedule: ScheduleTimes,
}

/// Config of `assistant`.
#[derive(Debug, Clone, Described)]
struct AssistantDef {
    /// The assistant, by id or name.
    #[member(required, shape = NON_EMPTY, meaning = Names(Assistant))]
    assistant: String,
    /// The conversation with it.
    #[member(flatten)]
    conversation: ConversationDef,
}

/// Config of `agent`.
#[derive(Debug, Clone, Described)]
struct AgentDef {
    /// The AI agent, by id or name.
    #[member(required, shape = NON_EMPTY, meaning = Names(Agent))]
    agent: String,
    /// The conversation with it.
    #[member(flatten)]
    conversation: ConversationDef,
}

/// A conversation of a step.
#[derive(Debug, Clone, Described)]
struct ConversationDef {
    /// What is said to it; the previous output by default.
    input: Option<FlowTemplate>,
    /// How long it lasts.
    mode: ConversationMode,
    /// The variable that receives the output.
    #[member(meaning = Writes)]
    output: Option<VariablePath>,
}

/// How long a conversation of a step lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
enum ConversationMode {
    /// A message and its answer.
    #[default]
    OneTurn,
    /// Until it is complete.
    UntilDone,
}

/// Config of `webhook`.
#[derive(Debug, Clone, Described)]
struct WebhookDef {
    /// Whether it calls a service or awaits a call.
    #[member(required)]
    direction: Direction,
    /// The URL.
    #[member(meaning = Template(Url), shown_if("direction", "outbound"))]
    url: FlowTemplate,
    /// The method.
    #[member(shape = Enum(&["POST", "PUT", "PATCH"]), default = "POST", shown_if("direction", "outbound"))]
    method: String,
    /// The headers.
    #[member(meaning = Template(Header), shown_if("direction", "outbound"))]
    headers: Vec<(String, FlowTemplate)>,
    /// The body; a standard one by default.
    #[member(meaning = Template(Body), shown_if("direction", "outbound"))]
    body: Option<ValueTemplate>,
    /// The secret that signs it.
    #[member(shape = SECRET)]
    secret: Option<String>,
    /// Mappings of the response, or of the body of the call, to variables.
    outputs: Vec<OutputMapping>,
    /// Timeout of an attempt, in milliseconds.
    #[member(shape = Integer(1, 60_000), codes("V006", "V006"), default = 10000, shown_if("direction", "outbound"))]
    timeout_ms: u32,
    /// How long a call is awaited, in milliseconds: a day.
    #[member(shape = POSITIVE, default = 86400000, shown_if("direction", "inbound"))]
    await_timeout_ms: u64,
    /// The variable that receives the output.
    #[member(meaning = Writes)]
    output: Option<VariablePath>,
}

/// Whether a webhook calls a service or awaits a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
enum Direction {
    /// It calls a service.
    #[default]
    Outbound,
    /// It awaits a signed call.
    Inbound,
}

impl StepDef {
    /// What happens when it fails. A notification that is not delivered does not fail the run.
    pub fn on_error(&self) -> StepOnError {
        let default = if matches!(self.kind, StepKind::Notify(_)) { StepOnError::Continue } else { StepOnError::Fail };
        self.own_on_error.unwrap_or(default)
    }
}

impl From<AssistantDef> for StepKind {
    fn from(definition: AssistantDef) -> StepKind {
        StepKind::Program(definition.conversation.with(ProgramKind::Assistant, definition.assistant))
    }
}

impl From<AgentDef> for StepKind {
    fn from(definition: AgentDef) -> StepKind {
        StepKind::Program(definition.conversation.with(ProgramKind::Agent, definition.agent))
    }
}

impl ConversationDef {
    fn with(self, kind: ProgramKind, target: String) -> ProgramStep {
        ProgramStep { kind, target, input: self.input, is_until_done: self.mode == ConversationMode::UntilDone, output: self.output }
    }
}

impl From<WebhookDef> for StepKind {
    fn from(definition: WebhookDef) -> StepKind {
        let WebhookDef { url, method, headers, body, secret, outputs, timeout_ms, await_timeout_ms, output, .. } = definition;
        match definition.direction {
            Direction::Outbound => {
                StepKind::Outbound(Box::new(OutboundStep { url, method, headers, body, secret, outputs, timeout_ms, output }))
            }
            Direction::Inbound => StepKind::Inbound(InboundStep { secret, await_timeout_ms, outputs, output }),
        }
    }
}
