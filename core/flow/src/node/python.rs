//! `python` nodes: run a script and write the variables that it has changed (docs/spec/flows.md#4.7).

use convengine_config::flow::document::{Node, PythonData};
use convengine_text::date::Date;
use convengine_text::variable_path::{VariablePath, get_at};
use convengine_turn::{EffectError, EffectErrorKind, Map, ScriptLimits, ScriptReply, ScriptRequest};
use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::trace::with_member;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;

/// Variables of agents, which scripts do not see.
const AGENT_MEMORY: &str = "_agent_memory";

impl RunNode for PythonData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.run_python(node, self).await
    }
}

impl<'c> Turn<'c> {
    async fn run_python(&mut self, node: &'c Node, data: &'c PythonData) -> Transition {
        if let Err(failure) = self.record.check_effects_left() {
            return Transition::Fail(failure);
        }
        let outcome = self.effects.perform(self.script_request(node, data)).await;
        let is_done = outcome.as_ref().is_ok_and(|it| it.failure.is_none());
        self.record.record_effect("script.run", None, if is_done { "ok" } else { "error" }, 1);
        match outcome {
            Ok(reply) => self.apply_script(data, reply),
            Err(error) => {
                let code = script_failure_code(&error);
                // What a host says of itself, such as that it has no interpreter, quotes no variable.
                let reason = (error.kind == EffectErrorKind::Unsupported).then_some(error.message);
                self.trace("script.run", json!({"failure": with_member(json!({"code": code}), "message", reason.clone())}));
                let message = reason.unwrap_or_else(|| format!("the script could not run ({code})"));
                Transition::Fail(Failure::new(code, message))
            }
        }
    }

    fn script_request(&self, node: &Node, data: &PythonData) -> ScriptRequest {
        let mut session = match &data.inputs {
            None => self.visible_variables(),
            Some(paths) => {
                let mut session = Map::new();
                for path in paths {
                    if let Some(value) = self.state.variable(path).cloned() {
                        // Cannot fail: the path exists in the session.
                        let _ = path.set(&mut session, value);
                    }
                }
                session
            }
        };
        session.retain(|name, _| !name.starts_with(AGENT_MEMORY));
        let params = self.state.frame().and_then(|it| it.locals.clone()).unwrap_or_default();
        let input = Map::from_iter([
            ("session".to_owned(), Value::Object(session)),
            ("event".to_owned(), self.event.to_value()),
            ("params".to_owned(), Value::Object(params)),
            ("now".to_owned(), json!(Date::from_millis(self.effects.now()).to_rfc3339_millis())),
            ("seed".to_owned(), json!(self.seeded_random(&self.state.visit_key(&node.id)).to_string())),
        ]);
        ScriptRequest {
            language: "python".to_owned(),
            code_hash: data.script.hash.clone(),
            code: data.script.source.clone(),
            input,
            timeout_ms: data.timeout_ms,
            limits: ScriptLimits::default(),
        }
    }

    /// The session's variables with those of the current frame.
    fn visible_variables(&self) -> Map {
        let mut vars = self.state.vars.clone();
        vars.extend(self.state.frame().and_then(|it| it.locals.clone()).unwrap_or_default());
        vars
    }

    /// Applies what a script did: all of it, or nothing.
    fn apply_script(&mut self, data: &PythonData, reply: ScriptReply) -> Transition {
        let mut record = json!({"logs": reply.logs, "result": reply.result, "branch": reply.branch});
        let result = match &reply.failure {
            Some(failure) => {
                let place = failure.line.map(|it| format!("line {it}: ")).unwrap_or_default();
                Err(Failure::new(failure.code.clone(), format!("{place}{}", failure.message)))
            }
            None => self.write_script_output(data, &reply),
        };
        if let (Err(failure), Some(record)) = (&result, record.as_object_mut()) {
            let line = reply.failure.as_ref().and_then(|it| it.line);
            record.insert("failure".to_owned(), json!({"code": failure.code, "message": failure.message, "line": line}));
        }
        self.trace("script.run", self.redactions().redact_value(record));
        match result {
            Ok(port) => {
                if let Some(message) = &reply.message {
                    self.send_text(message);
                }
                Transition::Port(port)
            }
            // The message can quote variables, so it stays in the trace.
            Err(failure) => {
                let message = format!("the script failed ({})", failure.code);
                Transition::Fail(Failure { message, ..failure })
            }
        }
    }

    /// Writes the output of a script and returns the port.
    fn write_script_output(&mut self, data: &PythonData, reply: &ScriptReply) -> Result<String, Failure> {
        let invalid = |reason: String| Failure::new("output_invalid", reason);
        let port = match &reply.branch {
            None => "out".to_owned(),
            Some(branch) if data.branches.iter().flatten().any(|it| it == branch) => format!("branch:{branch}"),
            Some(branch) => return Err(invalid(format!("the branch '{branch}' is not declared"))),
        };
        let before = self.snapshot_variables();
        let written = match &data.outputs {
            None => self.write_changes(reply),
            Some(paths) => self.write_declared_outputs(paths, reply),
        };
        written.map(|()| port).map_err(|reason| {
            self.restore_variables(before);
            invalid(reason)
        })
    }

    fn write_changes(&mut self, reply: &ScriptReply) -> Result<(), String> {
        for (name, value) in &reply.changed {
            self.write_variable(&script_variable(name), value.clone()).map_err(|it| it.0)?;
        }
        for name in &reply.removed {
            self.remove_variable(&script_variable(name)).map_err(|it| it.0)?;
        }
        Ok(())
    }

    /// Writes the declared outputs; other changes are dropped.
    fn write_declared_outputs(&mut self, paths: &[VariablePath], reply: &ScriptReply) -> Result<(), String> {
        for path in paths {
            let first = path.first_name();
            let literal = path.to_string();
            if reply.removed.iter().any(|name| name == first || *name == literal) {
                self.remove_variable(path).map_err(|it| it.0)?;
                continue;
            }
            let inside_variable = || path.parts().get(1..).and_then(|parts| get_at(reply.changed.get(first)?, parts));
            if let Some(value) = reply.changed.get(&literal).or_else(inside_variable) {
                self.write_variable(path, value.clone()).map_err(|it| it.0)?;
            }
        }
        Ok(())
    }
}

/// The variable that a key of a script's `session` names.
fn script_variable(name: &str) -> VariablePath {
    VariablePath::parse(name).unwrap_or_else(|_| VariablePath::from_name(name))
}

/// The failure code of a script that the host did not run.
fn script_failure_code(error: &EffectError) -> &'static str {
    match error.kind {
        EffectErrorKind::Timeout => "timeout",
        EffectErrorKind::Invalid | EffectErrorKind::Mismatch => "output_invalid",
        EffectErrorKind::Unavailable
        | EffectErrorKind::Unsupported
        | EffectErrorKind::Refused
        | EffectErrorKind::NotFound
        | EffectErrorKind::Denied
        | EffectErrorKind::CircuitOpen
        | EffectErrorKind::Limited
        | EffectErrorKind::Interrupted
        | EffectErrorKind::Cancelled => "unavailable",
    }
}
