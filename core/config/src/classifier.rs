//! `ce_intent_classifier`: patterns and example phrases that identify the intent of a message.

use std::sync::Arc;

use convengine_turn::{Candidate, Verdict};
use convengine_understanding::lexical::{Label, LazyClassifier, LexicalClassifier, TrainingPhrase, TrainingSet};

use super::code::{UNKNOWN, is_same_code, to_upper_code};
use super::column::{DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, pattern, word};
use super::intent_resolver::enabled_intents;
use super::issue::Issue;
use super::matcher::TextMatcher;
use super::matcher_set::MatcherSet;
use super::parts::Patterns;
use super::row::{TableRow, by_priority};
use super::scope::Scopes;
use super::tables::Tables;

pub(crate) static CLASSIFIER: TableShape = TableShape {
    name: "ce_intent_classifier",
    help: "Patterns and example phrases that name an intent. The model is asked when none matches.",
    columns: &[
        integer("classifier_id", "id of the row"),
        word("rule_type", &["REGEX", "EXACT", "CONTAINS", "STARTS_WITH", "EXAMPLE", "SEMANTIC"], ""),
        pattern("pattern", "the pattern, or for `EXAMPLE` and `SEMANTIC` an example phrase"),
        INTENT_CODE.with_help("the intent that the row names"),
        STATE_CODE.with_help("the state that the row sets").with_default(r#""UNKNOWN""#),
        PRIORITY.with_help("lower first, null last"),
        ENABLED,
        DESCRIPTION,
    ],
};

/// A classifier row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classifier {
    /// `classifier_id`.
    pub id: i64,
    /// The intent, spelled as in the row.
    pub intent: String,
    /// The state, in upper case.
    pub state: String,
}

/// A row of type SEMANTIC or EXAMPLE: an example phrase of its intent.
#[derive(Debug, Clone)]
pub struct Example {
    /// The phrase.
    pub phrase: String,
    /// The row.
    pub row: Classifier,
}

/// Classifier rows of enabled intents, by priority.
#[derive(Debug, Clone, Default)]
pub struct Classifiers {
    patterns: Vec<(TextMatcher, Classifier)>,
    index: MatcherSet,
    /// Rows of type EXAMPLE: the classifier learns from them. It is used when no pattern matches.
    pub learned: LearnedExamples,
    /// Rows of type SEMANTIC, compared by embedding similarity: used when the classifier accepts no intent.
    pub examples: Vec<Example>,
}

/// Example phrases that a classifier learns from. A class is an intent and state.
#[derive(Debug, Clone, Default)]
pub struct LearnedExamples {
    /// The first row of each class.
    pub classes: Vec<Classifier>,
    phrases: Vec<TrainingPhrase>,
    locale: String,
    classifier: LazyClassifier,
}

impl LearnedExamples {
    fn push(&mut self, phrase: String, row: Classifier) {
        let is_same = |other: &Classifier| is_same_code(&other.intent, &row.intent) && other.state == row.state;
        let class = self.classes.iter().position(is_same).unwrap_or(self.classes.len());
        if class == self.classes.len() {
            self.classes.push(row);
        }
        self.phrases.push(TrainingPhrase { text: phrase, label: Label::Class(class) });
    }

    /// Returns what the classifier learns.
    pub fn training_set(&self) -> TrainingSet {
        let classes = self.classes.iter().map(|it| it.intent.clone()).collect();
        TrainingSet { locale: self.locale.clone(), classes, phrases: self.phrases.clone() }
    }

    /// Whether there are any.
    pub fn has_examples(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Returns the classifier, trained at the first call; `None` without examples.
    pub fn classifier(&self) -> Option<&LexicalClassifier> {
        self.has_examples().then(|| self.classifier.get_or_train(|| self.training_set()))
    }

    /// Returns the hash of the training set.
    pub fn classifier_hash(&self) -> &str {
        self.classifier.get_or_hash(|| self.training_set())
    }

    /// Passes a classifier that was trained before with the same [`TrainingSet`].
    pub fn supply_classifier(&self, classifier: Arc<LexicalClassifier>) {
        self.classifier.supply(classifier);
    }
}

impl Classifiers {
    pub(super) fn compile(
        tables: &Tables,
        scopes: &Scopes,
        locale: &str,
        regexes: &mut Patterns<'_>,
        issues: &mut Vec<Issue>,
    ) -> Classifiers {
        let enabled = enabled_intents(tables);
        let rows = by_priority(scopes.rows(tables, &CLASSIFIER, issues));
        let mut classifiers = Classifiers::default();
        locale.clone_into(&mut classifiers.learned.locale);
        for row in rows {
            match compile(&row, regexes) {
                // The scope check has reported the disabled intent; its classifiers never match.
                Ok((_, row)) if !enabled.contains(&to_upper_code(&row.intent)) => {}
                Ok((RowMatch::Pattern(matcher), row)) => classifiers.patterns.push((matcher, row)),
                Ok((RowMatch::Learned(phrase), row)) => classifiers.learned.push(phrase, row),
                Ok((RowMatch::Example(phrase), row)) => classifiers.examples.push(Example { phrase, row }),
                Err(issue) => issues.push(issue),
            }
        }
        classifiers.index = MatcherSet::new(classifiers.patterns.iter().map(|it| &it.0));
        classifiers
    }

    /// Returns the rows whose pattern matches a text, by priority.
    pub fn find_matching(&self, text: &str) -> Vec<&Classifier> {
        let lower = text.to_lowercase();
        let candidates = self.index.candidates(text, &lower).into_iter().filter_map(|it| self.patterns.get(it));
        candidates.filter(|candidate| candidate.0.matches(text, &lower) == Ok(true)).map(|it| &it.1).collect()
    }

    /// Returns the verdict on each pattern row for a text.
    pub fn candidates(&self, text: &str) -> Vec<Candidate> {
        self.patterns.iter().map(|(matcher, row)| matcher.candidate(text, |verdict| row.candidate(verdict))).collect()
    }
}

impl Classifier {
    /// The row as a candidate of an explanation.
    pub fn candidate(&self, verdict: Verdict) -> Candidate {
        Candidate::for_row("ce_intent_classifier", self.id, &self.intent, verdict)
    }
}

/// How a row matches.
enum RowMatch {
    Pattern(TextMatcher),
    Learned(String),
    Example(String),
}

fn compile(row: &TableRow<'_>, regexes: &mut Patterns<'_>) -> Result<(RowMatch, Classifier), Issue> {
    let rule_type = row.code("rule_type").unwrap_or_default();
    row.required("pattern", "it has a pattern")?;
    let pattern = row.text("pattern").unwrap_or_default();
    let how = match TextMatcher::compile_with(&to_upper_code(&rule_type), &pattern, &mut |it| regexes.compile(it)) {
        Some(compiled) => RowMatch::Pattern(compiled.map_err(|reason| row.error("pattern", reason, "the pattern is corrected"))?),
        None if to_upper_code(&rule_type) == "EXAMPLE" => RowMatch::Learned(pattern),
        None if to_upper_code(&rule_type) == "SEMANTIC" => RowMatch::Example(pattern),
        None => return Err(row.error("rule_type", row.unknown_word("rule_type"), "the type is one of these")),
    };
    let intent = row.required("intent_code", "it names an intent")?;
    let state = row.code("state_code").map_or_else(|| UNKNOWN.to_owned(), |it| to_upper_code(&it));
    Ok((how, Classifier { id: row.id(), intent, state }))
}
