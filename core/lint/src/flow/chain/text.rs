//! Templates, conditions, outputs and secrets of steps. (E001, E002, E004, S001, S002, T001–T005, V004, V005, V010, V011)

use std::collections::BTreeSet;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::OutputMapping;
use convengine_config::flow::document::chain::StepKind;
use convengine_text::variable_path::VariablePath;

use super::super::context::Location;
use super::super::source_text::{SourceText, TextKind, chain_step_texts};
use super::super::{expression, secret, service, template, tool};
use super::{ChainContext, StepContext};

/// The members of `system`.
const SYSTEM_MEMBERS: [&str; 5] = ["run_id", "chain", "attempt", "now", "time_zone"];

/// Roots whose members are not known before a run.
const OPEN_ROOTS: [&str; 3] = ["trigger", "event", "secret"];

/// What steps can be read by name.
struct Names<'c> {
    steps: BTreeSet<&'c str>,
    variables: Vec<VariablePath>,
}

pub(super) fn check(context: &ChainContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let names = Names {
        steps: context.steps.iter().map(|step_cx| step_cx.step.id.as_str()).collect(),
        variables: context.steps.iter().flat_map(written_variables).map(|it| it.1).collect(),
    };
    if let Some(secret) = &context.document.trigger.secret {
        findings.extend(tool::check_known_secret(context.target, secret, context.location("/trigger/secret")));
    }
    for step_cx in &context.steps {
        check_outputs(step_cx, findings);
        if let Some(secret) = signing_secret(&step_cx.step.kind) {
            findings.extend(tool::check_known_secret(context.target, secret, step_cx.location.join("/config/secret")));
        }
        let Some(source) = step_cx.source else { continue };
        for text in chain_step_texts(source, &step_cx.location.path) {
            let location = Location { path: text.path.clone(), ..step_cx.location.clone() };
            template::check_text(&location, &text, findings);
            expression::check_parsed(&location, &text, findings);
            secret::check_header(&location, &text, findings);
            check_secrets(context, &location, &text, findings);
            findings.extend(text.paths().iter().filter_map(|it| check_name(&names, &location, &text, it)));
        }
    }
    secret::check_literals(context.source, |it| context.locate(it), findings);
}

fn signing_secret(kind: &StepKind) -> Option<&str> {
    match kind {
        StepKind::Outbound(webhook) => webhook.secret.as_deref(),
        StepKind::Inbound(webhook) => webhook.secret.as_deref(),
        StepKind::Program(_) | StepKind::Human(_) | StepKind::Decide(_) | StepKind::Notify(_) | StepKind::Sleep(_) => None,
    }
}

fn outputs(kind: &StepKind) -> &[OutputMapping] {
    match kind {
        StepKind::Outbound(webhook) => &webhook.outputs,
        StepKind::Inbound(webhook) => &webhook.outputs,
        StepKind::Program(_) | StepKind::Human(_) | StepKind::Decide(_) | StepKind::Notify(_) | StepKind::Sleep(_) => &[],
    }
}

/// The variables that a step writes, each with the member that names it.
fn written_variables(step_cx: &StepContext<'_>) -> Vec<(String, VariablePath)> {
    let own = match &step_cx.step.kind {
        StepKind::Program(step) => step.output.clone(),
        StepKind::Outbound(step) => step.output.clone(),
        StepKind::Inbound(step) => step.output.clone(),
        StepKind::Human(step) => step.output.clone(),
        StepKind::Decide(_) | StepKind::Notify(_) | StepKind::Sleep(_) => None,
    };
    let mapped = outputs(&step_cx.step.kind).iter().enumerate();
    let mapped = mapped.map(|(at, output)| (format!("/config/outputs/{at}/variable"), output.variable.clone()));
    own.map(|it| ("/config/output".to_owned(), it)).into_iter().chain(mapped).collect()
}

fn check_outputs(step_cx: &StepContext<'_>, findings: &mut Vec<DocumentIssue>) {
    tool::check_outputs(outputs(&step_cx.step.kind), &step_cx.location.join("/config/outputs"), findings);
    for (member, variable) in written_variables(step_cx) {
        let (location, name) = (step_cx.location.join(&member), variable.to_string());
        if let Some(inner) = name.strip_prefix("context.") {
            let message = format!("'{name}' cannot be read back: '{{{{ {name} }}}}' reads the variable '{inner}'");
            findings.push(location.error("V005", message).with_fix(format!("write to '{inner}'")));
        } else {
            findings.extend(service::check_reserved(location, &name));
        }
    }
}

fn check_secrets(context: &ChainContext<'_>, location: &Location, text: &SourceText<'_>, findings: &mut Vec<DocumentIssue>) {
    let names: BTreeSet<&str> = text.interpolation().map(|it| it.secret_names()).unwrap_or_default().into_iter().collect();
    for name in names {
        findings.extend(tool::check_known_secret(context.target, name, location.clone()));
        if text.kind == TextKind::Url {
            findings.push(tool::secret_in_url(name, location.clone()));
        }
    }
}

/// Reports a name that nothing provides.
fn check_name(names: &Names<'_>, location: &Location, text: &SourceText<'_>, path: &VariablePath) -> Option<DocumentIssue> {
    let report = |message: String, fix: String| {
        let fix = text.bracket_fix(path).unwrap_or(fix);
        let code = if text.kind == TextKind::Condition { "E004" } else { "T003" };
        Some(location.clone().warning(code, message).with_fix(fix))
    };
    let member = path.rest();
    let variable = match path.first_name() {
        root if OPEN_ROOTS.contains(&root) => return None,
        "system" => {
            let is_known = member.is_none_or(|member| SYSTEM_MEMBERS.contains(&member.first_name()));
            return if is_known {
                None
            } else {
                report(format!("unknown member '{path}'"), format!("use one of {}", SYSTEM_MEMBERS.join(", ")))
            };
        }
        "steps" => {
            let step = member?.first_name().to_owned();
            let is_known = names.steps.contains(step.as_str());
            let begins = |id: &&&str| id.strip_prefix(step.as_str()).is_some_and(|rest| rest.starts_with(['-', '.']));
            let fix = names.steps.iter().find(begins).map(|it| format!("write steps['{it}']"));
            let fix = fix.unwrap_or_else(|| "use the id of a step".to_owned());
            return if is_known { None } else { report(format!("unknown step '{step}'"), fix) };
        }
        "context" | "session" => member?,
        _ => path.clone(),
    };
    let is_written = names.variables.iter().any(|written| written.starts_with(&variable) || variable.starts_with(written));
    if is_written { None } else { report(format!("'{path}' is read but never written"), "write it first, or correct its name".to_owned()) }
}
