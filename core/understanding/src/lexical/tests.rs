use convengine_text::json::canonical::Hasher;
use serde_json::json;

use super::*;

/// The threshold of the phrases, and a small margin.
const USUAL: Acceptance = Acceptance { threshold: None, margin: 0.03 };

/// A small set of three classes.
pub(super) fn shop() -> TrainingSet {
    set(&[
        ("track", &["where is my order", "track my order", "order status", "has my parcel been sent"]),
        ("refund", &["I want a refund", "refund my order", "money back", "return the money"]),
        ("hours", &["opening hours", "when are you open", "what time do you close"]),
    ])
}

fn set(classes: &[(&str, &[&str])]) -> TrainingSet {
    let phrases = classes.iter().enumerate().flat_map(|(class, (_, texts))| {
        texts.iter().map(move |text| TrainingPhrase { text: (*text).to_owned(), label: Label::Class(class) })
    });
    TrainingSet { locale: "en".to_owned(), classes: classes.iter().map(|it| it.0.to_owned()).collect(), phrases: phrases.collect() }
}

fn best(classifier: &LexicalClassifier, set: &TrainingSet, text: &str) -> (String, f64) {
    let ranking = classifier.rank(text);
    let best = ranking.classes[0];
    (set.classes[best.class].clone(), best.confidence)
}

#[test]
fn other_words_typos_and_forms_are_recognised() {
    let set = shop();
    let classifier = LexicalClassifier::train(&set);
    for (text, class) in [
        ("wheres my order", "track"),
        ("where are my orders?", "track"),
        ("what is the status of my order", "track"),
        ("can i get my money back please", "refund"),
        ("at what time are you opening", "hours"),
        ("openning huors please, when do you open", "hours"),
    ] {
        let (found, confidence) = best(&classifier, &set, text);
        assert_eq!(found, class, "{text}");
        assert!(confidence > 0.5, "{text}: {confidence}");
    }
    for text in ["tell me a joke", "what about it", "hello", "", "?!", "\u{0}", "ß"] {
        let (_, confidence) = best(&classifier, &set, text);
        assert!(confidence < classifier.threshold(USUAL), "{text}: {confidence}");
    }
}

#[test]
fn languages_without_stemmer_or_spaces_are_recognised() {
    let set = set(&[
        ("order", &["我的订单在哪里", "查询订单状态", "注文はどこですか", "मेरा ऑर्डर कहाँ है", "คำสั่งซื้อของฉันอยู่ที่ไหน"]),
        ("refund", &["我想要退款", "请把钱退给我", "返金してください", "मुझे पैसे वापस चाहिए", "ฉันต้องการเงินคืน"]),
    ]);
    let classifier = LexicalClassifier::train(&TrainingSet { locale: "zh".to_owned(), ..set.clone() });
    for (text, class) in [
        ("订单在哪", "order"),
        ("退款", "refund"),
        ("注文の状態", "order"),
        ("返金したい", "refund"),
        ("ऑर्डर कहाँ", "order"),
        ("पैसे वापस", "refund"),
        ("คำสั่งซื้อ", "order"),
        ("เงินคืน", "refund"),
    ] {
        assert_eq!(best(&classifier, &set, text).0, class, "{text}");
    }
}

#[test]
fn phrases_of_no_class_and_not_of_a_class_take_part() {
    let mut set = shop();
    let (before, text) = (best(&LexicalClassifier::train(&set), &set, "order me a pizza"), "order a pizza for me");
    set.phrases.push(TrainingPhrase { text: text.to_owned(), label: Label::NoClass });
    let after = best(&LexicalClassifier::train(&set), &set, "order me a pizza");
    assert!(after.1 < before.1, "{before:?} {after:?}");
    let mut set = shop();
    set.phrases.push(TrainingPhrase { text: "cancel my order".to_owned(), label: Label::Not(0) });
    let classifier = LexicalClassifier::train(&set);
    let score =
        |classifier: &LexicalClassifier| classifier.rank("cancel my order").classes.iter().find(|ranked| ranked.class == 0).unwrap().score;
    assert!(score(&classifier) < score(&LexicalClassifier::train(&shop())) - 0.3);
}

#[test]
fn sets_that_teach_nothing_do_no_harm() {
    for set in [TrainingSet::default(), set(&[("one", &[])]), set(&[("one", &[""])]), set(&[("one", &["a"]), ("two", &["a"])])] {
        let classifier = LexicalClassifier::train(&set);
        let ranking = classifier.rank("a b c");
        assert_eq!(ranking.classes.len(), set.classes.len());
        assert!(
            ranking.classes.iter().all(|ranked| ranked.confidence.is_finite() && ranked.confidence < classifier.threshold(USUAL)),
            "{ranking:?}"
        );
        assert!(validate(&set, USUAL).accuracy.is_finite());
    }
    let set = set(&[("only", &["where is my order", "track my order"])]);
    let classifier = LexicalClassifier::train(&set);
    assert!(best(&classifier, &set, "wheres my order").1 > best(&classifier, &set, "tell me a joke about cats").1 + 0.3);
}

#[test]
fn influences_are_the_terms_of_the_text() {
    let classifier = LexicalClassifier::train(&shop());
    let influences = classifier.explain("where is the refund", 1, 3);
    assert!(influences.iter().any(|influence| influence.term == "refund" && influence.weight > 0.0), "{influences:?}");
    assert!(influences.iter().filter(|it| it.weight > 0.0).count() <= 3 && influences.iter().filter(|it| it.weight < 0.0).count() <= 3);
    let ranking = classifier.rank("where is the refund");
    let all: f64 = classifier.explain("where is the refund", 1, usize::MAX).iter().map(|it| it.weight).sum();
    let score = ranking.classes.iter().find(|it| it.class == 1).unwrap().score;
    assert!((all - 1.0 - score).abs() < 1e-5, "the influences and the bias are the score: {all} {score}");
}

#[test]
fn hashes_name_what_is_learned() {
    let mut other = shop();
    assert_eq!(other.hash(), shop().hash());
    other.phrases[0].text.push('s');
    let mut negative = shop();
    negative.phrases[0].label = Label::Not(0);
    assert_ne!(other.hash(), shop().hash());
    assert_ne!(negative.hash(), shop().hash());
    // Languages whose words were not stemmed at first are trained anew: in the hash of the others, only the locale differs.
    let text = |trainer: &str, locale: &str| json!({"trainer": trainer, "locale": locale, "classes": []});
    for (locale, trainer) in [("en", "lexical/1"), ("xx", "lexical/1"), ("ar", "lexical/2"), ("el-GR", "lexical/2"), ("ta_IN", "lexical/2")]
    {
        let mut hasher = Hasher::default();
        hasher.add_json(&text(trainer, locale));
        assert_eq!(TrainingSet { locale: locale.to_owned(), ..TrainingSet::default() }.hash(), hasher.finish(), "{locale}");
    }
}

#[test]
fn reports_find_what_misleads() {
    let mut set = shop();
    for text in ["refund please", "give me my money", "refund for my order", "where is my refund"] {
        set.phrases.push(TrainingPhrase { text: text.to_owned(), label: Label::Class(1) });
    }
    set.phrases.push(TrainingPhrase { text: "refund please now".to_owned(), label: Label::Class(0) });
    let report = validate(&set, USUAL);
    assert_eq!(report.phrases, set.phrases.len());
    let found = report.misleading.iter().find(|it| it.phrase == "refund please now").unwrap();
    assert_eq!((found.class.as_str(), found.taken_for.as_str()), ("track", "refund"));
    assert!(report.confusions.iter().any(|confusion| confusion.class == "track" && confusion.taken_for == "refund"));
    assert!(report.classes.iter().find(|it| it.class == "hours").unwrap().needs_more);
    let cases = [("I want a refund for this", Some("refund")), ("the status of my order", Some("track")), ("sing a song", None)];
    let cases = cases.map(|(text, class)| TestCase { text: text.to_owned(), class: class.map(str::to_owned) });
    let tested = test(&LexicalClassifier::train(&set), &set, &cases, USUAL);
    assert_eq!((tested.in_scope, tested.out_of_scope, tested.accuracy, tested.refused), (2, 1, 1.0, 1.0));
}
