//! The sets in `tests/nlu`: intents with phrases, and texts whose intent is known; and sets of any size that are generated from their words.

use anyhow::{Context, Result};
use convengine_core::lexical::{Acceptance, Label, LexicalClassifier, TestCase, TestReport, TrainingPhrase, TrainingSet, test};
use convengine_core::text::phrase::Phrase;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::root;

/// The acceptance of documents that set nothing.
pub const USUAL: Acceptance = Acceptance { threshold: None, margin: 0.03 };

/// A set of labelled texts.
#[derive(Debug, Clone, Deserialize)]
pub struct DataSet {
    /// Its name.
    pub name: String,
    /// The locale.
    pub locale: String,
    /// The intents with their phrases.
    pub intents: Vec<DataIntent>,
    /// Texts that are not among the phrases.
    pub tests: Vec<DataText>,
}

/// An intent with phrases; the first ones are as varied as all.
#[derive(Debug, Clone, Deserialize)]
pub struct DataIntent {
    /// Its id.
    pub id: String,
    /// Its phrases.
    pub phrases: Vec<String>,
}

/// A text whose intent is known.
#[derive(Debug, Clone, Deserialize)]
pub struct DataText {
    /// The text.
    pub text: String,
    /// The id of its intent; `None` when it has none.
    pub intent: Option<String>,
}

impl DataSet {
    /// Reads a set.
    ///
    /// # Errors
    /// If the file cannot be read or parsed.
    pub fn read(name: &str) -> Result<DataSet> {
        let path = root().join("tests/nlu").join(format!("{name}.json"));
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a set of texts", path.display()))
    }

    /// Returns the training set of the first phrases of each intent.
    pub fn training_set(&self, phrases: usize) -> TrainingSet {
        let of_class = |(class, intent): (usize, &DataIntent)| {
            let phrase = |text: &String| TrainingPhrase { text: text.clone(), label: Label::Class(class) };
            intent.phrases.iter().take(phrases).map(phrase).collect::<Vec<_>>()
        };
        TrainingSet {
            locale: self.locale.clone(),
            classes: self.intents.iter().map(|it| it.id.clone()).collect(),
            phrases: self.intents.iter().enumerate().flat_map(of_class).collect(),
        }
    }

    /// Returns the texts as test cases.
    pub fn cases(&self) -> Vec<TestCase> {
        self.tests.iter().map(|test| TestCase { text: test.text.clone(), class: test.intent.clone() }).collect()
    }

    /// Returns a flow document with the first phrases of each intent.
    pub fn document(&self, phrases: usize) -> Value {
        let root = json!({
            "id": "root", "kind": "root", "entry": "start",
            "nodes": [
                {"id": "start", "type": "start", "name": "Start", "data": {}},
                {"id": "idle", "type": "end", "name": "Idle", "data": {"end_session": false}},
            ],
            "edges": [{"id": "e1", "source": "start", "target": "idle"}],
        });
        let intent = |intent: &DataIntent| {
            let phrases: Vec<&String> = intent.phrases.iter().take(phrases).collect();
            json!({"id": intent.id, "name": intent.id, "phrases": phrases, "graph": format!("g_{}", intent.id)})
        };
        let graph = |intent: &DataIntent| {
            json!({
                "id": format!("g_{}", intent.id), "kind": "intent", "entry": "in",
                "nodes": [
                    {"id": "in", "type": "intent", "name": "In", "data": {"intent_id": intent.id}},
                    {"id": "end", "type": "end", "name": "End", "data": {"end_session": false}},
                ],
                "edges": [{"id": "e1", "source": "in", "target": "end"}],
            })
        };
        json!({
            "schema_version": "1.0", "doc": "conversation_flow", "id": self.name, "name": self.name, "default_locale": self.locale, "root": "root",
            "settings": {"llm_match": false, "llm_verify": false},
            "intents": self.intents.iter().map(intent).collect::<Vec<_>>(),
            "graphs": std::iter::once(root).chain(self.intents.iter().map(graph)).collect::<Vec<_>>(),
        })
    }

    /// Measures a number of phrases.
    pub fn measure(&self, phrases: usize) -> Measurement {
        let set = self.training_set(phrases);
        Measurement {
            name: self.name.clone(),
            phrases,
            contained: self.measure_contained(&set),
            classified: test(&LexicalClassifier::train(&set), &set, &self.cases(), USUAL),
        }
    }

    /// Measures the match of contained phrases: shares of texts that are right, wrong, and of none but matched.
    fn measure_contained(&self, set: &TrainingSet) -> [f64; 3] {
        let phrases: Vec<(Phrase, &Label)> = set.phrases.iter().map(|it| (Phrase::new(&it.text, &set.locale), &it.label)).collect();
        let (mut right, mut wrong, mut accepted) = (0, 0, 0);
        for text in &self.tests {
            let input = Phrase::new(&text.text, &set.locale);
            let hits = phrases.iter().filter_map(|(phrase, label)| Some((phrase.tokens().len(), input.match_phrase(phrase)?.1, *label)));
            let best = hits.fold(None, |best: Option<(usize, f64, &Label)>, hit| match best {
                Some(best) if (best.0, best.1) >= (hit.0, hit.1) => Some(best),
                _ => Some(hit),
            });
            let Some((_, _, Label::Class(class))) = best else { continue };
            match &text.intent {
                Some(intent) if set.classes.get(*class) == Some(intent) => right += 1,
                Some(_) => wrong += 1,
                None => accepted += 1,
            }
        }
        let in_scope = self.tests.iter().filter(|it| it.intent.is_some()).count();
        let share = |count: usize, total: usize| count as f64 / total as f64;
        [share(right, in_scope), share(wrong, in_scope), share(accepted, self.tests.len() - in_scope)]
    }
}

/// What a set gives with a number of phrases.
#[derive(Debug, Clone)]
pub struct Measurement {
    name: String,
    phrases: usize,
    /// Contained phrases alone: right, wrong, accepted although of no intent.
    contained: [f64; 3],
    /// The classifier.
    pub classified: TestReport,
}

impl Measurement {
    /// The first two lines of the table.
    pub const HEAD: [&str; 2] = [
        "| set | phrases per intent | before: right / wrong / of none accepted | right | accepted | mistaken | asked back | of none: refused / asked back |",
        "|---|---|---|---|---|---|---|---|",
    ];

    /// Returns the line of the table in the specification.
    pub fn line(&self) -> String {
        let [right, wrong, accepted] = self.contained.map(percent);
        let it = &self.classified;
        format!(
            "| {} | {} | {right} / {wrong} / {accepted} | {} | {} | {} | {} | {} / {} |",
            self.name,
            self.phrases,
            percent(it.accuracy),
            percent(it.accepted),
            percent(it.mistaken),
            percent(it.close),
            percent(it.refused),
            percent(it.out_of_scope_close)
        )
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A generator of numbers that are always the same.
pub struct Numbers(u64);

impl Numbers {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * limit as u128) >> 64) as usize
    }

    /// Returns an item.
    pub fn pick<'a>(&mut self, words: &'a [String]) -> &'a str {
        words.get(self.below(words.len())).map_or("", String::as_str)
    }
}

/// Generates a set of any size from words: each intent has words of its own beside those that all have.
pub fn generate(words: &[String], intents: usize, phrases: usize, seed: u64) -> DataSet {
    let mut numbers = Numbers::new(seed);
    let common: Vec<String> = words.iter().take(60).cloned().collect();
    let mut all = Vec::new();
    for at in 0..intents {
        let own: Vec<String> = (0..25).map(|_| numbers.pick(words).to_owned()).collect();
        let mut phrase = || {
            let length = 3 + numbers.below(9);
            let word = |_| match numbers.below(100) {
                0..40 => numbers.pick(&own).to_owned(),
                40..85 => numbers.pick(&common).to_owned(),
                _ => numbers.pick(words).to_owned(),
            };
            (0..length).map(word).collect::<Vec<_>>().join(" ")
        };
        all.push(DataIntent { id: format!("intent_{at}"), phrases: (0..phrases).map(|_| phrase()).collect() });
    }
    let texts = all.iter().flat_map(|intent| intent.phrases.iter().take(20).map(move |text| (intent, text)));
    let shortened = |text: &str| text.split(' ').skip(1).collect::<Vec<_>>().join(" ");
    let tests = texts.map(|(intent, text)| DataText { text: shortened(text), intent: Some(intent.id.clone()) }).collect();
    DataSet { name: "generated".to_owned(), locale: "en".to_owned(), intents: all, tests }
}

/// Returns the words of both sets, and made-up ones, so that large sets have as many as people use.
///
/// # Errors
/// If a set cannot be read.
pub fn words() -> Result<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for name in ["shop_en", "bank_de"] {
        let set = DataSet::read(name)?;
        words.extend(set.intents.iter().flat_map(|it| &it.phrases).flat_map(|it| it.split_whitespace()).map(str::to_owned));
    }
    words.sort_unstable();
    words.dedup();
    let made_up: Vec<String> =
        words.iter().zip(words.iter().rev()).map(|(a, b)| a.chars().take(3).chain(b.chars().skip(2)).collect()).collect();
    words.extend(made_up);
    Ok(words)
}
