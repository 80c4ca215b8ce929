//! A stand-in for a model of embeddings: hashed words, parts of words and a table of synonyms. It knows nothing but this table.

use std::sync::LazyLock;

use convengine_core::knowledge::query_terms;

/// The length of an embedding.
pub const DIMENSIONS: usize = 512;

/// How much the parts of a word count together, where the word counts 1.
const PARTS_WEIGHT: f32 = 0.5;

/// Words that mean nearly the same, of everyday English and German.
const SYNONYMS: [&str; 24] = [
    "bicycle bike cycle rad fahrrad",
    "steal stolen theft thief rob took gone geklaut gestohlen diebstahl klauen",
    "cancel end quit terminate unsubscribe kündigen kündige beenden",
    "plan subscription contract abo tarif vertrag membership",
    "price cost fee amount expensive cheap kosten preis",
    "discount reduction cheaper rabatt",
    "pay payment paid bezahlen zahlen",
    "bill invoice receipt rechnung rechnungen",
    "refund back reimburse erstattung zurück",
    "repair mend fix mechanic reparieren reparatur flicken",
    "puncture flat plattfuß platt tyre tire reifen",
    "battery accumulator akku",
    "charge recharge charging laden ladung aufladen plugged",
    "motor engine electric assistance support",
    "key schlüssel",
    "house home door wohnung zuhause",
    "bring deliver delivery drop van liefern lieferung",
    "shop store branch laden läden geschäft",
    "open opening offen geöffnet hours öffnungszeiten",
    "holiday vacation travel trip urlaub",
    "move relocate relocating umziehen umzug",
    "friend colleague invite recommend acquaintance",
    "employer employee company staff firm business firma",
    "telephone phone call telefon",
];

/// Returns the embedding of a text, of length 1 unless the text has no words.
pub fn embed(text: &str) -> Vec<f32> {
    let mut embedding = vec![0.0; DIMENSIONS];
    for term in query_terms(text, &["en"]) {
        let concept = concept(&term);
        add(&mut embedding, concept.as_deref().unwrap_or(&term), 1.0);
        let parts = parts(&term);
        let weight = PARTS_WEIGHT / (parts.len().max(1) as f32).sqrt();
        parts.iter().for_each(|it| add(&mut embedding, it, weight));
    }
    let length = embedding.iter().map(|it| it * it).sum::<f32>().sqrt();
    if length > 0.0 {
        embedding.iter_mut().for_each(|it| *it /= length);
    }
    embedding
}

fn concept(term: &str) -> Option<String> {
    static TERMS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| SYNONYMS.iter().map(|words| query_terms(words, &["en"])).collect());
    let row = TERMS.iter().position(|row| row.iter().any(|word| word == term))?;
    Some(format!("={row}"))
}

/// Returns three characters each, with a mark for both ends of the word.
fn parts(term: &str) -> Vec<String> {
    let characters: Vec<char> = ['<'].into_iter().chain(term.chars()).chain(['>']).collect();
    characters.windows(3).map(|letters| letters.iter().collect()).collect()
}

/// Adds a feature at the place that its hash names, with the sign that its hash names.
fn add(embedding: &mut [f32], feature: &str, weight: f32) {
    let hash = feature.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let place = (mixed >> 40) as usize % embedding.len();
    embedding[place] += if mixed & 1 == 0 { weight } else { -weight };
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_core::knowledge::cosine;

    #[test]
    fn synonyms_and_forms_are_near() {
        let near = |left: &str, right: &str| cosine(&embed(left), &embed(right));
        assert!(near("rent a bicycle", "bike rental") > near("rent a bicycle", "make honey") + 0.2);
        assert!((near("delete my data", "delete my data") - 1.0).abs() < 1e-6);
        assert_eq!(embed("?"), vec![0.0; DIMENSIONS]);
    }
}
