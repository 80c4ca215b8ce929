//! Runs a script.

use std::time::Duration;

use chrono::DateTime;
use monty::{MontyRepl, MontyRun};
use monty_types::{
    AssertMessageAnnotations, CompileOptions, DateTimeSource, ExcType, MontyException, MontyObject, OsPolicy, PrintWriter, ProcessTime,
    RandomSeed, RandomStart, ResourceLimits, ResourceTracker, SleepMode, memory_limit_with_headroom,
};
use num_bigint::BigInt;
use serde_json::{Map, Value};

use crate::log::Log;
use crate::message::{Changes, Failure, FailureCode, Limits, Outcome, RunInput, RunOutput};
use crate::meter;
use crate::source::{self, Prepared};
use crate::trap;
use crate::values::{self, JsonWriter};

/// The names that a script finds, in this order.
const NAMES: [&str; 8] = ["session", "event", "params", "now", "seed", "branch", "message", "result"];

/// The file name in tracebacks.
const FILE: &str = "script";

/// Fuel for reading the input and preparing the script, beside its own; an input of a megabyte needs a tenth.
const OVERHEAD_FUEL: u64 = 100_000_000;

/// The longest message of a failure in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// Runs a script.
pub fn run(input: &[u8]) -> RunOutput {
    meter::allow_fuel(OVERHEAD_FUEL);
    let input: RunInput = match serde_json::from_slice(input) {
        Ok(input) => input,
        Err(error) => return failed(Vec::new(), Failure::new(FailureCode::Exception, format!("invalid input: {error}"), None)),
    };
    trap::set_limits(input.limits);
    let mut log = Log::new(input.limits.log_lines, input.limits.log_chars);
    match Script::prepare(&input).and_then(|script| script.run(&mut log)) {
        Ok(changes) => RunOutput { logs: log.into_lines(), outcome: Outcome::Success(changes) },
        Err(failure) => failed(log.into_lines(), failure),
    }
}

fn failed(logs: Vec<String>, failure: Failure) -> RunOutput {
    RunOutput { logs, outcome: Outcome::Failure { failure } }
}

/// Compiles a script without running it.
///
/// # Errors
/// The first construct that the interpreter lacks.
pub fn compile(code: &str) -> Result<(), MontyException> {
    let names = NAMES.map(str::to_owned).to_vec();
    MontyRun::new(code.to_owned(), FILE, names, options()).map(|_| ())
}

/// Returns the line of the script at which an exception was raised, and its text.
pub fn describe(error: &MontyException) -> (Option<u32>, String) {
    let frame = error.traceback().iter().rev().find(|it| it.filename == FILE);
    let text = error
        .summary()
        .replace("The monty syntax parser does not yet support ", "not supported: ")
        .replace("Internal error in monty: ", "");
    (frame.map(|it| it.start.line), text.chars().take(MAX_MESSAGE_CHARS).collect())
}

fn options() -> CompileOptions {
    CompileOptions { assert_message_annotations: AssertMessageAnnotations::Off, ..CompileOptions::default() }
}

struct Script<'i> {
    input: &'i RunInput,
    prepared: Prepared,
    repl: MontyRepl,
    script_name: String,
    /// The fuel used when the script begins.
    fuel_before: u64,
}

impl<'i> Script<'i> {
    fn prepare(input: &'i RunInput) -> Result<Script<'i>, Failure> {
        let prepared = source::prepare(&input.code).map_err(|it| Failure::from_finding(FailureCode::Syntax, it))?;
        if let Some(finding) = prepared.refused.first() {
            return Err(Failure::from_finding(FailureCode::Exception, finding.clone()));
        }
        compile(&prepared.code).map_err(|error| {
            let (line, message) = describe(&error);
            Failure::new(FailureCode::Syntax, message, line)
        })?;
        let limits = ResourceLimits::default()
            .max_feed_duration(Duration::from_nanos(input.limits.fuel))
            .max_memory(input.limits.memory_bytes)
            .max_recursion_depth(input.limits.recursion);
        let policy = create_policy(input).map_err(|it| Failure::new(FailureCode::Exception, it, None))?;
        let repl = MontyRepl::new(FILE, ResourceTracker::new(limits), options()).with_os_policy(policy);
        Ok(Script { input, prepared, repl, script_name: String::new(), fuel_before: 0 })
    }

    fn run(mut self, log: &mut Log) -> Result<Changes, Failure> {
        for module in &self.prepared.supplied {
            let outcome = self.repl.feed_run(module.source(), Vec::new(), PrintWriter::Disabled);
            outcome.map_err(|it| Failure::new(FailureCode::Exception, format!("module '{}': {}", module.name(), it.summary()), None))?;
        }
        let limits = self.input.limits;
        // Fails only without the allocator of this module.
        let _ = monty_alloc::set_hard_limit(memory_limit_with_headroom(Some(limits.memory_bytes), false));
        self.script_name = self.repl.next_script_name();
        self.fuel_before = meter::fuel_used();
        // The interpreter stops at its limit by itself; only what it does between two of its checks is stopped by the meter.
        meter::allow_fuel(limits.fuel.saturating_add(limits.fuel / 4));
        let inputs = self.create_inputs();
        let outcome = self.repl.feed_run(&self.prepared.code, inputs, PrintWriter::Callback(log));
        outcome.map_err(|it| self.create_failure(&it))?;
        meter::allow_fuel(OVERHEAD_FUEL);
        self.collect_changes().map_err(|message| Failure::new(FailureCode::OutputInvalid, message, None))
    }

    fn create_inputs(&self) -> Vec<(String, MontyObject)> {
        let input = self.input;
        let values = [
            values::object_to_python(&input.session),
            values::to_python(&input.event),
            values::to_python(&input.params),
            MontyObject::string(input.now.as_str()),
            // As in JSON, whose numbers cannot hold it.
            MontyObject::string(input.seed.to_string()),
            MontyObject::none(),
            MontyObject::none(),
            MontyObject::none(),
        ];
        NAMES.map(str::to_owned).into_iter().zip(values).collect()
    }

    fn create_failure(&self, error: &MontyException) -> Failure {
        let Limits { fuel, memory_bytes, .. } = self.input.limits;
        let frame = error.traceback().iter().rev().find(|it| it.filename == self.script_name);
        let line = frame.map(|it| it.start.line);
        let message = error.message().unwrap_or_default();
        if error.exc_type() == ExcType::TimeoutError && meter::fuel_used().saturating_sub(self.fuel_before) > fuel {
            return Failure::out_of_fuel(fuel, line);
        }
        let exceeded = message.starts_with("memory limit exceeded: ") && message.ends_with(&format!(" > {memory_bytes} bytes"));
        if error.exc_type() == ExcType::MemoryError && exceeded {
            return Failure::out_of_memory(memory_bytes, line);
        }
        Failure::new(FailureCode::Exception, describe(error).1, line)
    }

    fn collect_changes(&mut self) -> Result<Changes, String> {
        let mut json = JsonWriter::new(self.input.limits.output_bytes);
        let mut changes = Changes::default();
        self.compare_session(&mut changes)?;
        for (name, value) in &changes.changed {
            json.take(name.len() + value.to_string().len() + 4)?;
        }
        let result = self.read("result")?;
        changes.result = json.convert(result.as_ref(), "result")?;
        changes.branch = self.read_text("branch", &mut json)?;
        changes.message = self.read_text("message", &mut json)?;
        Ok(changes)
    }

    /// Compares the variables with those before the script, which also finds changes inside of values.
    fn compare_session(&mut self, changes: &mut Changes) -> Result<(), String> {
        let session = self.read("session")?;
        let value = session.as_ref();
        let pairs = value.pairs().filter(|_| value.type_name() == "dict").ok_or("session is no longer a dictionary")?;
        // What did not change may exceed the limit of the output.
        let mut json = JsonWriter::new(usize::MAX);
        let mut present = Map::new();
        for (key, value) in pairs {
            let name = key.as_str().ok_or_else(|| format!("a name in session is of type {}, not str", key.type_name()))?;
            let value = json.convert(value, &format!("session['{name}']"))?;
            present.insert(name.to_owned(), value);
        }
        let before = &self.input.session;
        changes.removed = before.keys().filter(|it| !present.contains_key(*it)).cloned().collect();
        present.retain(|name, value| before.get(name) != Some(value));
        changes.changed = present;
        let reserved = changes.changed.keys().chain(&changes.removed).find(|it| it.starts_with('_'));
        reserved.map_or(Ok(()), |name| Err(format!("session['{name}'] is reserved")))
    }

    fn read_text(&mut self, name: &str, json: &mut JsonWriter) -> Result<Option<String>, String> {
        let value = self.read(name)?;
        match json.convert(value.as_ref(), name)? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Err(format!("{name} is not text")),
        }
    }

    fn read(&mut self, name: &str) -> Result<MontyObject, String> {
        self.repl.feed_run(name, Vec::new(), PrintWriter::Disabled).map_err(|it| it.summary())
    }
}

fn create_policy(input: &RunInput) -> Result<OsPolicy, String> {
    let now = DateTime::parse_from_rfc3339(&input.now).map_err(|it| format!("invalid time '{}': {it}", input.now))?;
    let datetime = DateTimeSource::Fixed { unix_seconds: now.timestamp(), microsecond: now.timestamp_subsec_micros() };
    let random_start = RandomStart::Seed(RandomSeed::Int(BigInt::from(input.seed)));
    Ok(OsPolicy { datetime, random_start, sleep: SleepMode::Zero, process_time: ProcessTime::default(), ..OsPolicy::default() })
}
