//! What a pack scripts and asks for: rules of the model that never apply, tasks that nothing carries out, and answers of tasks that nothing
//! calls.

use std::collections::BTreeSet;

use convengine_config::{Issue, RuleAction, TableRow};
use convengine_text::task::TaskName;
use convengine_turn::LLM_PURPOSES;
use serde_json::{Value, json};

use super::{Pack, ScriptRule};

/// The purpose of calls for embeddings.
const EMBED: &str = "embed";

/// The modes of calls.
const KINDS: [&str; 3] = ["text", "json", "json_strict"];

impl Pack {
    /// Returns the issues of the pack beside those of its tables and documents.
    ///
    /// ```
    /// use convengine_pack::Pack;
    ///
    /// let issues = Pack::parse(r#"{"name": "p", "llm": [{"purpose": "respond", "reply": "Hi."}]}"#)?.script_issues();
    /// assert_eq!((issues[0].path.as_str(), issues[0].rule), ("llm[0].purpose", "unknown-purpose"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn script_issues(&self) -> Vec<Issue> {
        let of_rules = self.llm.iter().enumerate().flat_map(|(at, rule)| rule_issues(at, rule));
        of_rules.chain(self.task_issues()).chain(self.unused_task_issues()).collect()
    }

    /// Returns what lint of the tables may know beside them: the scripted replies of tasks, the JSON of the fake service, and the
    /// parameters of the messages as `set_params`.
    ///
    /// ```
    /// use convengine_pack::Pack;
    ///
    /// let pack = Pack::parse(r#"{"name": "p", "tasks": {"orders:cancel": {"set_context": {"orderNo": "C-4711"}}}}"#)?;
    /// assert_eq!(pack.known_replies()[0]["set_context"]["orderNo"], "C-4711");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn known_replies(&self) -> Vec<Value> {
        let of_turns = self.turns.iter().flat_map(|turn| &turn.answers).map(|answer| &answer.reply);
        let of_service =
            self.http.iter().flat_map(|rule| std::iter::once(&rule.json).chain(rule.sequence.iter().map(|answer| &answer.json)));
        let sent = self.turns.iter().filter_map(|turn| turn.request.as_ref()?.body.get("inputParams"));
        let mut replies: Vec<Value> = self.tasks.values().chain(of_turns).chain(of_service).cloned().collect();
        replies.extend(sent.map(|params| json!({"set_params": params})));
        replies
    }

    /// Reports tasks that rows call and that neither the pack nor a row of `ce_task` carries out.
    fn task_issues(&self) -> Vec<Issue> {
        let tables = self.tables.to_normalized();
        let bound: BTreeSet<String> =
            tables.enabled_rows("ce_task").iter().filter(|row| row.text("binding").is_some()).filter_map(|it| it.code("task")).collect();
        let is_known = |name: &str| self.tasks.contains_key(name) || bound.contains(name);
        let mut issues = Vec::new();
        let mut check = |row: &TableRow<'_>, column: &str, task: &TaskName| {
            let names = task.methods.iter().map(|method| format!("{}:{method}", task.bean));
            for name in names.filter(|name| !is_known(name)) {
                let hint = "add it to the tasks of the pack, or to ce_task with a binding, or correct the name";
                issues.push(
                    Issue::warning(row.path(column), format!("nothing carries out the task '{name}'"), hint).with_rule("unknown-task"),
                );
            }
        };
        for row in tables.enabled_rows("ce_rule") {
            if let Some(task) = RuleAction::from_row(&row).ok().as_ref().and_then(RuleAction::task) {
                check(&row, "action_value", task);
            }
        }
        for row in tables.enabled_rows("ce_pending_action") {
            if let (Some(bean), Some(methods)) = (row.code("bean_name"), row.code("method_names"))
                && let Some(task) = TaskName::parse(&format!("{bean}:{methods}"))
            {
                check(&row, "bean_name", &task);
            }
        }
        issues
    }

    /// Reports answers of tasks that nothing in the pack names.
    fn unused_task_issues(&self) -> Vec<Issue> {
        // What an extension calls is not known.
        if !self.extensions.is_empty() {
            return Vec::new();
        }
        let parts = [json!(self.tables), self.settings.clone(), json!(self.turns), json!(self.documents), json!(self.workspace_tools)];
        let mut texts = Vec::new();
        for part in parts.iter().chain(self.tasks.values()).chain(self.tools.values()).chain(self.containers.values()) {
            collect_texts(part, &mut texts);
        }
        let unused = self.tasks.keys().filter(|name| !is_named(name, &texts));
        let issue = |name: &String| {
            let hint = "correct the name to that in the row that calls it, or remove the answer";
            Issue::warning(format!("tasks.{name}"), format!("nothing calls the task '{name}'"), hint).with_rule("unused-task")
        };
        unused.map(issue).collect()
    }
}

/// Collects the texts of a value with the names of its members, also those of JSON that is written as text.
fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text) {
                collect_texts(&inner, texts);
            }
            texts.push(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => {
            for (name, member) in members {
                texts.push(name.clone());
                collect_texts(member, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a task is named: in one text, such as `bean:method,method`, or in two, as by rows of pending actions.
fn is_named(task: &str, texts: &[String]) -> bool {
    let Some((bean, method)) = task.split_once(':') else { return false };
    let prefix = format!("{bean}:");
    let begins_with_method = |word: &str| {
        let rest = word.trim_start().strip_prefix(method);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    };
    let is_in_one = |text: &String| text.split(prefix.as_str()).skip(1).any(|rest| rest.split(',').any(begins_with_method));
    let is_bean = |text: &String| text.trim() == bean;
    let has_method = |text: &String| text.split(',').any(|word| word.trim() == method);
    texts.iter().any(is_in_one) || texts.iter().any(is_bean) && texts.iter().any(has_method)
}

fn rule_issues(at: usize, rule: &ScriptRule) -> Vec<Issue> {
    let path = |member: &str| format!("llm[{at}].{member}");
    let mut issues = Vec::new();
    if let Some(purpose) = rule.purpose.as_deref().filter(|purpose| *purpose != EMBED && !LLM_PURPOSES.contains(purpose)) {
        let hint = format!("use one of {}, {EMBED}", LLM_PURPOSES.join(", "));
        issues.push(Issue::error(path("purpose"), format!("no call has the purpose '{purpose}'"), hint).with_rule("unknown-purpose"));
    }
    if let Some(kind) = rule.kind.as_deref().filter(|it| !KINDS.contains(it)) {
        let hint = format!("use {}", KINDS.join(", "));
        issues.push(Issue::error(path("kind"), format!("no call has the kind '{kind}'"), hint).with_rule("unknown-purpose"));
    }
    for name in rule.unknown.keys() {
        let hint = "use purpose, kind, user_text, contains, times, reply, replies, error or delay_ms";
        issues.push(Issue::warning(path(name), format!("unknown member '{name}', which has no effect"), hint).with_rule("unknown-member"));
    }
    issues
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_never_apply_and_tasks_without_anyone_are_reported() {
        let pack = Pack::parse(
            r#"{"name": "p", "tasks": {"loan:check": {"result": 1}},
                "llm": [{"purpose": "agent", "reply": "x"}, {"purpose": "embed"}, {"purpose": "INTENT_AGENT"}, {"kind": "xml", "reply": 1},
                    {"answer": "x"}],
                "tables": {
                    "ce_rule": [
                        {"rule_id": 1, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "ANY", "state_code": "ANY", "rule_type": "EXACT",
                         "match_pattern": "ANY", "action": "SET_TASK", "action_value": "loan:check,rate"},
                        {"rule_id": 2, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "ANY", "state_code": "ANY", "rule_type": "EXACT",
                         "match_pattern": "ANY", "action": "SET_TASK", "action_value": "mail:send"}],
                    "ce_task": [{"task_id": 1, "kind": "TASK", "task": "mail:send", "binding": "{\"http\": {\"url\": \"http://x\"}}"}],
                    "ce_pending_action": [{"pending_action_id": 4, "intent_code": "LOAN", "state_code": "ANY", "action_key": "A", "bean_name": "card",
                        "method_names": "block"}]
                }}"#,
        );
        let issues: Vec<String> = pack.unwrap().script_issues().iter().map(|it| format!("{} {}", it.rule, it.path)).collect();
        assert_eq!(
            issues,
            [
                "unknown-purpose llm[2].purpose",
                "unknown-purpose llm[3].kind",
                "unknown-member llm[4].answer",
                "unknown-task ce_rule[1].action_value",
                "unknown-task ce_pending_action[4].bean_name",
            ]
        );
    }

    #[test]
    fn replies_are_known_from_scripts_services_and_messages() {
        let pack = Pack::parse(
            r#"{"name": "p", "tasks": {"a:b": {"set_context": {"one": 1}}},
                "http": [{"path_prefix": "/", "json": {"set_params": {"two": 2}}, "sequence": [{"json": {"set_params": {"three": 3}}}]}],
                "turns": [{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "a", "inputParams": {"four": 4}}},
                    "answers": [{"task": "a:b", "reply": {"set_context": {"five": 5}}}]}]}"#,
        );
        let replies = json!(pack.unwrap().known_replies()).to_string();
        assert!(["one", "two", "three", "four", "five"].iter().all(|name| replies.contains(name)), "{replies}");
    }

    #[test]
    fn answers_of_tasks_that_nothing_calls_are_reported() {
        let unused = |tasks: Value, tables: Value| {
            let pack = Pack::parse(&json!({"name": "p", "tasks": tasks, "tables": tables}).to_string()).unwrap();
            let issues = pack.script_issues();
            issues.iter().filter(|it| it.rule == "unused-task").map(|it| it.path.clone()).collect::<Vec<String>>()
        };
        let rule = |action: &str, value: &str| json!({"rule_id": 1, "action": action, "action_value": value});
        let rows = json!({
            "ce_rule": [rule("SET_TASK", "loan:check, rate"), rule("SET_INPUT_PARAM", "{\"pending_action_task\": \"mail:send\"}")],
            "ce_pending_action": [{"pending_action_id": 4, "bean_name": "card", "method_names": "block, notify"}],
            "ce_task": [{"task_id": 1, "kind": "HOOK", "stage": "AFTER", "task": "desk:tidy"}],
        });
        let called = ["loan:check", "loan:rate", "mail:send", "card:block", "card:notify", "desk:tidy"];
        let answers = |names: &[&str]| Value::Object(names.iter().map(|name| ((*name).to_owned(), json!({"result": 1}))).collect());
        assert_eq!(unused(answers(&called), rows.clone()), [""; 0]);
        let wrong = ["loan:chek", "loans:check", "card:unblock", "card", "mail:sen"];
        assert_eq!(unused(answers(&wrong), rows), wrong.map(|name| format!("tasks.{name}")));
        let next = json!({"loan:check": {"set_context": {"pending_action": {"bean": "card", "method": "block"}}}, "card:block": {}});
        let one_rule = json!({"ce_rule": [rule("SET_TASK", "loan:check")]});
        assert_eq!(unused(next, one_rule), [""; 0], "a task names the next one");
    }
}
