//! The bytes of a trained classifier, as hosts store them.

use thiserror::Error;

use super::calibration::{Calibration, INPUTS};
use super::classifier::LexicalClassifier;
use super::model::Model;
use super::vocabulary::Vocabulary;

/// The first bytes; the last is the version of the format.
const MAGIC: [u8; 4] = *b"CLX1";

/// The bytes are no classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a classifier of this version; train it again")]
pub struct FormatError;

impl LexicalClassifier {
    /// Encodes the classifier. All numbers are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Model { vocabulary, classes, weights, scales } = &self.model;
        let mut bytes = Vec::with_capacity(weights.len() + vocabulary.hashes.len() * 8 + 1_024);
        bytes.extend(MAGIC);
        push_count(self.locale.len(), &mut bytes);
        bytes.extend(self.locale.as_bytes());
        push_count(*classes, &mut bytes);
        push_count(vocabulary.hashes.len(), &mut bytes);
        self.calibration.factors.iter().chain([&self.calibration.threshold]).for_each(|factor| bytes.extend(factor.to_le_bytes()));
        bytes.extend(vocabulary.function_weight.to_le_bytes());
        scales.iter().chain(&vocabulary.rarity).for_each(|number| bytes.extend(number.to_le_bytes()));
        vocabulary.hashes.iter().for_each(|hash| bytes.extend(hash.to_le_bytes()));
        bytes.extend(weights.iter().map(|it| it.cast_unsigned()));
        bytes
    }

    /// Decodes a classifier.
    ///
    /// # Errors
    /// The bytes are not those of a classifier of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<LexicalClassifier, FormatError> {
        let mut reader = Reader(bytes);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(FormatError);
        }
        let length = reader.count()?;
        let locale = std::str::from_utf8(reader.take(length)?).map_err(|_| FormatError)?.to_owned();
        let (classes, columns) = (reader.count()?, reader.count()?);
        let mut factors = [0.0; INPUTS];
        for factor in &mut factors {
            *factor = f64::from_le_bytes(reader.array()?);
        }
        let threshold = f64::from_le_bytes(reader.array()?);
        let function_weight = f32::from_le_bytes(reader.array()?);
        let scales = reader.list(classes, f32::from_le_bytes)?;
        let rarity = reader.list(columns, f32::from_le_bytes)?;
        let hashes = reader.list(columns, u32::from_le_bytes)?;
        let weights: Vec<i8> = reader.take(columns.checked_mul(classes).ok_or(FormatError)?)?.iter().map(|it| it.cast_signed()).collect();
        let is_sorted = hashes.is_sorted_by(|a, b| a < b);
        if !reader.0.is_empty() || !is_sorted {
            return Err(FormatError);
        }
        let model = Model { vocabulary: Vocabulary { hashes, rarity, function_weight }, classes, weights, scales };
        Ok(LexicalClassifier { locale, model, calibration: Calibration { factors, threshold } })
    }
}

fn push_count(count: usize, bytes: &mut Vec<u8>) {
    bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// Bytes that have not been read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], FormatError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(FormatError)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        self.take(N)?.try_into().map_err(|_| FormatError)
    }

    fn count(&mut self) -> Result<usize, FormatError> {
        usize::try_from(u32::from_le_bytes(self.array()?)).map_err(|_| FormatError)
    }

    fn list<T>(&mut self, length: usize, read: fn([u8; 4]) -> T) -> Result<Vec<T>, FormatError> {
        let bytes = self.take(length.checked_mul(4).ok_or(FormatError)?)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|it| read(*it)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::tests::shop;

    #[test]
    fn bytes_give_the_same_classifier() {
        let classifier = LexicalClassifier::train(&shop());
        let bytes = classifier.to_bytes();
        assert_eq!(LexicalClassifier::from_bytes(&bytes).unwrap(), classifier);
        for length in 0..bytes.len() {
            assert_eq!(LexicalClassifier::from_bytes(bytes.get(..length).unwrap()), Err(FormatError), "{length}");
        }
        assert_eq!(LexicalClassifier::from_bytes(&[bytes, vec![0]].concat()), Err(FormatError));
    }
}
