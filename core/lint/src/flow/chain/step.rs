//! Steps by themselves: labels, and what each kind needs. (X002–X004, X006, X007, X011, X014)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::chain::{DecideStep, HumanStep, NotifyStep, ProgramStep, StepKind};

use super::super::request_target::{check_target, fix_target};
use super::super::workflow::Resolution;
use super::{ChainContext, StepContext};

/// Beginnings of words with which people approve.
const APPROVAL_STEMS: [&str; 10] = ["approv", "accept", "allow", "authori", "confirm", "decline", "deny", "permission", "permit", "reject"];

pub(super) fn check(context: &ChainContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (number, step_cx) in context.steps.iter().enumerate() {
        let (step, location) = (step_cx.step, &step_cx.location);
        if step.label.trim().is_empty() {
            let message = format!("the step '{}' has no label", step.id);
            findings.push(location.join("/label").error("X002", message).with_fix("say in 'label' what it does"));
        }
        match &step.kind {
            StepKind::Program(program) => findings.extend(check_program(context, step_cx, program)),
            StepKind::Outbound(request) if request.url.source.trim().is_empty() => {
                findings.push(location.join("/config").error("X004", "the webhook has no URL").with_fix("add a 'url'"));
            }
            StepKind::Outbound(request) => check_url(context, step_cx, "/config/url", &request.url.source, findings),
            StepKind::Inbound(webhook) => {
                // The first step is the trigger, whose secret serves as well.
                let is_trigger = step_cx.branch.is_none() && step_cx.position == 0 && context.document.trigger.secret.is_some();
                if webhook.secret.is_none() && !is_trigger {
                    let message = "no secret verifies the webhook";
                    findings.push(location.join("/config").error("X006", message).with_fix("name a secret of the workspace in 'secret'"));
                }
            }
            StepKind::Human(human) => {
                check_assignees(context, step_cx, human, findings);
                if human.expires_ms.is_none() {
                    let message = "the decision is awaited without a limit";
                    findings.push(location.join("/config").warning("X011", message).with_fix("add 'expires_ms'"));
                }
                findings.extend(check_approval(context, number, human));
            }
            StepKind::Decide(decide) => check_cases(step_cx, decide, findings),
            StepKind::Notify(notify) => check_recipients(context, step_cx, notify, findings),
            StepKind::Sleep(_) => {}
        }
    }
}

/// Reports a name that does not stand for exactly one published document.
fn check_program(context: &ChainContext<'_>, step_cx: &StepContext<'_>, program: &ProgramStep) -> Option<DocumentIssue> {
    let (kind, name) = (program.kind.name(), &program.target);
    let (message, fix) = match context.target.programs?.resolve(program.kind, name) {
        Resolution::Published => return None,
        Resolution::Missing => (format!("unknown {kind} '{name}'"), "create it, or correct the name"),
        Resolution::Ambiguous => (format!("several documents of the kind {kind} are named '{name}'"), "use the id of one"),
        Resolution::Unpublished => (format!("the {kind} '{name}' has no published version"), "publish it"),
    };
    Some(step_cx.location.join(&format!("/config/{kind}")).error("X003", message).with_fix(fix))
}

fn check_url(context: &ChainContext<'_>, step_cx: &StepContext<'_>, member: &str, url: &str, findings: &mut Vec<DocumentIssue>) {
    if let Err(reason) = check_target(url, context.target) {
        let fix = fix_target(url, "call a public host over http or https");
        findings.push(step_cx.location.join(member).error("X004", reason).with_fix(fix));
    }
}

fn check_recipients(context: &ChainContext<'_>, step_cx: &StepContext<'_>, notify: &NotifyStep, findings: &mut Vec<DocumentIssue>) {
    if notify.channel == "webhook" {
        for (number, to) in notify.to.iter().enumerate() {
            check_url(context, step_cx, &format!("/config/to/{number}"), &to.source, findings);
        }
    }
}

fn check_assignees(context: &ChainContext<'_>, step_cx: &StepContext<'_>, human: &HumanStep, findings: &mut Vec<DocumentIssue>) {
    for (number, assignee) in human.assignees.iter().enumerate().filter(|it| it.1.contains("://")) {
        check_url(context, step_cx, &format!("/config/assignees/{number}"), assignee, findings);
    }
}

fn check_cases(step_cx: &StepContext<'_>, decide: &DecideStep, findings: &mut Vec<DocumentIssue>) {
    let location = step_cx.location.join("/config/cases");
    if decide.cases.is_empty() {
        findings.push(location.clone().error("X007", "the decision has no cases").with_fix("add one to 'cases'"));
    }
    for (number, case) in decide.cases.iter().enumerate() {
        if case.words.is_empty() && case.expr.is_none() {
            let message = "the case never applies: it has neither words nor a condition";
            findings.push(location.join(&format!("/{number}")).error("X007", message).with_fix("add 'match' or 'expr'"));
        }
    }
}

/// Reports a step with side effects right before the question whether it may happen.
fn check_approval(context: &ChainContext<'_>, number: usize, human: &HumanStep) -> Option<DocumentIssue> {
    let asking = context.steps.get(number)?;
    let texts = human.options.iter().chain([&asking.step.label, &human.prompt.source]);
    let words = texts.flat_map(|text| text.split(|character: char| !character.is_alphanumeric())).map(str::to_lowercase);
    if !words.into_iter().any(|word| APPROVAL_STEMS.iter().any(|stem| word.starts_with(stem))) {
        return None;
    }
    let mut before = context.steps.get(..number)?.iter().rev().filter(|step_cx| step_cx.branch == asking.branch && !step_cx.step.disabled);
    let acting = before.next().filter(|step_cx| match &step_cx.step.kind {
        StepKind::Outbound(_) => true,
        StepKind::Notify(notify) => notify.channel != "log",
        StepKind::Program(_) | StepKind::Inbound(_) | StepKind::Human(_) | StepKind::Decide(_) | StepKind::Sleep(_) => false,
    })?;
    let message = format!("'{}' happens before '{}', which looks like its approval", acting.step.label, asking.step.label);
    Some(acting.location.clone().warning("X014", message).with_fix("move it behind the approval, if it needs one"))
}
