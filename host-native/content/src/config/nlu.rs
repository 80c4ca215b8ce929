//! `convengine nlu`: reports how well the phrases of a file tell its intents apart.

use std::path::Path;
use std::time::{Duration, Instant};

use convengine_core::lexical::{LexicalClassifier, TestCase, TestReport, ValidationReport, test, validate};
use convengine_core::pack::PackClassifier;
use serde::Deserialize;
use serde_json::{Value, json};

use convengine_host_base::exit::Failure;
use convengine_host_base::pack_file;
use convengine_host_base::print_line;

/// Lines of a list in the printed report.
const LISTED: usize = 15;

/// Runs the command.
///
/// # Errors
/// Exit code 1 if the file cannot be used or has no phrases, 2 if the texts of `--data` cannot be read.
pub fn run(file: &Path, data: Option<&Path>, json: bool) -> Result<(), Failure> {
    let pack = pack_file::read(file).map_err(|error| Failure::check_failed(vec![error.to_string()]))?;
    let cases = data.map(read_cases).transpose()?;
    let reports: Vec<Report> = pack.classifiers().iter().map(|classifier| Report::new(classifier, cases.as_deref())).collect();
    if reports.is_empty() {
        let line = "no phrases: add phrases to the intents of a flow document, or rows of type EXAMPLE to ce_intent_classifier";
        return Err(Failure::check_failed(vec![line.to_owned()]));
    }
    if json {
        print_line!("{}", Value::Array(reports.iter().map(Report::to_json).collect()));
    } else {
        reports.iter().for_each(Report::print);
    }
    Ok(())
}

/// The report on one classifier.
struct Report {
    name: String,
    intents: usize,
    validation: ValidationReport,
    test: Option<TestReport>,
    /// Intents of the texts that the classifier does not know, so that the texts are out of scope.
    unknown: Vec<String>,
    bytes: usize,
    training_time: Duration,
}

impl Report {
    fn new(of: &PackClassifier, cases: Option<&[TestCase]>) -> Report {
        let started = Instant::now();
        let classifier = LexicalClassifier::train(&of.set);
        let training_time = started.elapsed();
        let mut unknown: Vec<String> = Vec::new();
        let in_scope = |case: &TestCase| {
            let class = case.class.clone().filter(|it| of.set.classes.contains(it));
            TestCase { text: case.text.clone(), class }
        };
        for class in cases.into_iter().flatten().filter_map(|it| it.class.as_ref()) {
            if !of.set.classes.contains(class) && !unknown.contains(class) {
                unknown.push(class.clone());
            }
        }
        let cases: Option<Vec<TestCase>> = cases.map(|cases| cases.iter().map(in_scope).collect());
        Report {
            name: of.name.clone(),
            intents: of.set.classes.len(),
            validation: validate(&of.set, of.acceptance),
            test: cases.map(|it| test(&classifier, &of.set, &it, of.acceptance)),
            unknown,
            bytes: classifier.to_bytes().len(),
            training_time,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name, "intents": self.intents, "bytes": self.bytes, "cross_validation": self.validation, "data": self.test,
            "out_of_scope_intents": self.unknown,
        })
    }

    fn print(&self) {
        let Report { name, intents, validation, .. } = self;
        print_line!(
            "{name}: {intents} intents, {} phrases, {} KB, trained in {:.0?}",
            validation.phrases,
            self.bytes / 1_024,
            self.training_time
        );
        print_line!(
            "  phrases, held out: {} right; accepted {}, mistaken {}, asked back {}; threshold {:.2}",
            percent(validation.accuracy),
            percent(validation.accepted),
            percent(validation.mistaken),
            percent(validation.close),
            validation.threshold
        );
        if let Some(test) = &self.test {
            print_line!(
                "  messages with an intent: {}, {} right; accepted {}, mistaken {}, asked back {}",
                test.in_scope,
                percent(test.accuracy),
                percent(test.accepted),
                percent(test.mistaken),
                percent(test.close)
            );
            print_line!(
                "  messages without one: {}, {} refused, {} asked back",
                test.out_of_scope,
                percent(test.refused),
                percent(test.out_of_scope_close)
            );
            if !self.unknown.is_empty() {
                print_line!("  counted as messages without one, because these intents are not in the file: {}", self.unknown.join(", "));
            }
        }
        let confusions = self.test.as_ref().map_or(&validation.confusions, |it| &it.confusions);
        print_list("confused", confusions.iter().map(|it| format!("{:>4}  {} is taken for {}", it.count, it.class, it.taken_for)));
        let misleading = validation.misleading.iter().filter(|it| it.confidence >= validation.threshold);
        let misleading =
            misleading.map(|it| format!("{:.2}  '{}' of {} is taken for {}", it.confidence, it.phrase, it.class, it.taken_for));
        print_list("misleading phrases", misleading);
        let thin = validation.classes.iter().filter(|it| it.needs_more);
        let thin = thin.map(|class| format!("{}: {} phrases, {} recognised", class.class, class.phrases, percent(class.recall)));
        print_list("intents that need more phrases, or other ones", thin);
    }
}

fn print_list(title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    print_line!("  {title}:");
    lines.iter().take(LISTED).for_each(|it| print_line!("    {it}"));
    if lines.len() > LISTED {
        print_line!("    and {} more; --json has all", lines.len() - LISTED);
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A labelled text in one of its forms.
#[derive(Deserialize)]
#[serde(untagged)]
enum Labeled {
    Object { text: String, intent: Option<String> },
    Pair(String, Option<String>),
}

impl From<Labeled> for TestCase {
    fn from(labeled: Labeled) -> TestCase {
        let (Labeled::Object { text, intent } | Labeled::Pair(text, intent)) = labeled;
        TestCase { text, class: intent.filter(|intent| !intent.trim().is_empty()) }
    }
}

/// A file with labelled texts in its members.
#[derive(Deserialize)]
struct LabeledFile {
    #[serde(default, alias = "test")]
    tests: Vec<Labeled>,
    #[serde(default)]
    oos_test: Vec<Labeled>,
}

/// Reads labelled texts: JSON (a list of `{"text", "intent"}` or `[text, intent]`, or an object with the list `tests`), JSON Lines, or
/// lines of a text, a tab and an intent.
fn read_cases(file: &Path) -> Result<Vec<TestCase>, Failure> {
    let name = file.display();
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::invalid_usage(format!("cannot read {name}: {error}; check the path")))?;
    parse_cases(&text).map_err(|reason| Failure::invalid_usage(format!("{name}: {reason}")))
}

fn parse_cases(text: &str) -> Result<Vec<TestCase>, String> {
    let form = "expected a JSON list of {\"text\", \"intent\"}, JSON Lines of these, or lines of a text, a tab and an intent";
    let all: Vec<TestCase> = match text.trim_start().chars().next() {
        Some('[' | '{') => match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(items)) if items.first().is_some_and(|first| first.is_object() || first.is_array()) => {
                let all = serde_json::from_value::<Vec<Labeled>>(Value::Array(items)).map_err(|_| form.to_owned())?;
                all.into_iter().map(TestCase::from).collect()
            }
            Ok(whole) if whole.get("text").is_none() && whole.is_object() => {
                let file: LabeledFile = serde_json::from_value(whole).map_err(|_| form.to_owned())?;
                // What is listed as out of scope belongs to no intent, whatever it is called.
                let outside = file.oos_test.into_iter().map(|it| TestCase { class: None, ..TestCase::from(it) });
                file.tests.into_iter().map(TestCase::from).chain(outside).collect()
            }
            _ => {
                let lines = text.lines().enumerate().filter(|line| !line.1.trim().is_empty());
                let parse = |(at, line): (usize, &str)| {
                    serde_json::from_str::<Labeled>(line).map(TestCase::from).map_err(|_| format!("line {}: {form}", at + 1))
                };
                lines.map(parse).collect::<Result<_, _>>()?
            }
        },
        _ => {
            let parse = |(at, line): (usize, &str)| {
                let (text, intent) = line.split_once('\t').ok_or_else(|| format!("line {}: {form}", at + 1))?;
                let class = Some(intent.trim().to_owned()).filter(|it| !it.is_empty());
                Ok(TestCase { text: text.trim().to_owned(), class })
            };
            text.lines().enumerate().filter(|line| !line.1.trim().is_empty()).map(parse).collect::<Result<_, String>>()?
        }
    };
    if all.is_empty() { Err(form.to_owned()) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labelled_texts_are_read_in_each_form() {
        let expected = [("where is it", Some("track")), ("sing", None)];
        let expected = expected.map(|(text, class)| TestCase { text: text.to_owned(), class: class.map(str::to_owned) });
        for text in [
            r#"[{"text": "where is it", "intent": "track"}, {"text": "sing", "intent": null}]"#,
            r#"[["where is it", "track"], ["sing", ""]]"#,
            "{\"text\": \"where is it\", \"intent\": \"track\"}\n\n{\"text\": \"sing\"}\n",
            "[\"where is it\", \"track\"]\n[\"sing\", null]\n",
            r#"{"name": "set", "tests": [{"text": "where is it", "intent": "track"}, {"text": "sing", "intent": null}]}"#,
            r#"{"test": [["where is it", "track"]], "oos_test": [["sing", "oos"]]}"#,
            "where is it\ttrack\nsing\t\n",
        ] {
            assert_eq!(parse_cases(text).unwrap(), expected, "{text}");
        }
        for text in ["", "where is it", "{\"text\": 1}", "[1]", "{}", "{\"text\": \"a\"}\n{"] {
            assert!(parse_cases(text).unwrap_err().contains("expected a JSON list"), "{text}");
        }
    }
}
