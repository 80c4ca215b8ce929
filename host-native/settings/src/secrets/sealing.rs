//! Seals the secrets of the database with XChaCha20-Poly1305. (docs/guide/access.md#secrets)

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

/// Length of a key in bytes.
const KEY_BYTES: usize = 32;

/// Length of a nonce in bytes.
const NONCE_BYTES: usize = 24;

/// Number of hexadecimal digits of a key id.
const ID_DIGITS: usize = 16;

/// The row that a sealed value belongs to. A value copied to another name or workspace does not open.
#[derive(Debug, Clone, Copy)]
pub struct SealedPlace<'a> {
    /// The workspace of the database.
    pub workspace: &'a str,
    /// The name of the secret.
    pub name: &'a str,
}

impl SealedPlace<'_> {
    /// The associated data. Neither names nor workspaces contain a NUL.
    fn associated_data(&self) -> Vec<u8> {
        ["convengine secret", self.workspace, self.name].join("\0").into_bytes()
    }
}

/// A key that seals and opens values. `Debug` shows only its id.
#[derive(Clone)]
pub struct SealingKey {
    id: String,
    cipher: XChaCha20Poly1305,
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealingKey").field(&self.id).finish()
    }
}

impl SealingKey {
    /// Returns the text of a new random key.
    pub fn generate_text() -> String {
        STANDARD.encode(Key::generate())
    }

    /// Parses a key from 32 bytes in Base64 or hexadecimal digits.
    fn parse(text: &str) -> Option<SealingKey> {
        let bytes = if text.len() == 2 * KEY_BYTES { parse_hex(text)? } else { STANDARD.decode(text).ok()? };
        let key = Key::try_from(bytes.as_slice()).ok()?;
        let digest = Sha256::digest([b"convengine secrets key\0", bytes.as_slice()].concat());
        let id: String = digest.iter().map(|it| format!("{it:02x}")).collect::<String>().chars().take(ID_DIGITS).collect();
        Some(SealingKey { id, cipher: XChaCha20Poly1305::new(&key) })
    }

    /// The id that is stored beside a sealed value.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Seals a value with a random nonce, which precedes the ciphertext. Returns Base64, or `None` without randomness.
    pub fn seal(&self, place: SealedPlace<'_>, value: &str) -> Option<String> {
        let nonce = XNonce::try_generate().ok()?;
        let data = place.associated_data();
        let sealed = self.cipher.encrypt(&nonce, Payload { msg: value.as_bytes(), aad: &data }).ok()?;
        Some(STANDARD.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Opens a sealed value. Returns `None` if it was changed or belongs to another row or key.
    pub fn open(&self, place: SealedPlace<'_>, sealed: &str) -> Option<String> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
        let data = place.associated_data();
        let value = self.cipher.decrypt(&XNonce::try_from(nonce).ok()?, Payload { msg: sealed, aad: &data }).ok()?;
        String::from_utf8(value).ok()
    }
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    (0..KEY_BYTES).map(|index| text.get(2 * index..2 * index + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok())).collect()
}

/// The keys of a source: the first seals, all open.
#[derive(Debug, Clone, Default)]
pub struct KeyRing(Vec<SealingKey>);

impl KeyRing {
    /// Parses keys separated by white space or commas.
    ///
    /// # Errors
    /// A message that shows no key if there is none or one is invalid.
    pub fn parse(text: &str) -> Result<KeyRing, String> {
        let texts = split_keys(text);
        let form = "write 32 random bytes in Base64, such as from `openssl rand -base64 32`";
        if texts.is_empty() {
            return Err(format!("contains no key; {form}"));
        }
        let keys = texts
            .iter()
            .enumerate()
            .map(|(index, text)| SealingKey::parse(text).ok_or_else(|| format!("key {} is not one of 32 bytes; {form}", index + 1)));
        keys.collect::<Result<_, _>>().map(KeyRing)
    }

    /// The key that seals; absent without keys.
    pub fn current(&self) -> Option<&SealingKey> {
        self.0.first()
    }

    /// Returns the key with an id.
    pub fn find(&self, id: &str) -> Option<&SealingKey> {
        self.0.iter().find(|it| it.id == id)
    }
}

/// Splits the text of a source into the texts of its keys.
pub fn split_keys(text: &str) -> Vec<&str> {
    text.split([' ', ',', '\t', '\r', '\n']).filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(texts: &[&str]) -> KeyRing {
        KeyRing::parse(&texts.join("\n")).expect("keys")
    }

    #[test]
    fn a_sealed_value_opens_only_in_its_place_and_unchanged() {
        let keys = ring(&[&SealingKey::generate_text()]);
        let key = keys.current().expect("a key");
        let place = SealedPlace { workspace: "default", name: "CRM" };
        let sealed = key.seal(place, "hunter2hunter2").expect("sealed");
        assert_eq!(key.open(place, &sealed).as_deref(), Some("hunter2hunter2"));
        assert!(!sealed.contains("hunter2") && sealed != key.seal(place, "hunter2hunter2").expect("sealed"), "the nonce is random");
        for (workspace, name) in [("default", "CRM2"), ("acme", "CRM"), ("default\0CRM", ""), ("", "default\0CRM")] {
            assert_eq!(key.open(SealedPlace { workspace, name }, &sealed), None, "{workspace} {name}");
        }
        let mut bytes = STANDARD.decode(&sealed).expect("Base64");
        for at in [0, NONCE_BYTES, bytes.len() - 1] {
            bytes[at] ^= 1;
            assert_eq!(key.open(place, &STANDARD.encode(&bytes)), None, "{at}");
            bytes[at] ^= 1;
        }
        for text in ["", "hunter2hunter2", "AAAA", &sealed[..sealed.len() - 4]] {
            assert_eq!(key.open(place, text), None, "{text}");
        }
        let other = ring(&[&SealingKey::generate_text()]);
        assert_eq!(other.current().expect("a key").open(place, &sealed), None);
    }

    #[test]
    fn keys_are_32_bytes_and_never_shown() {
        let (first, second) = (SealingKey::generate_text(), "0123456789abcdef".repeat(4));
        let keys = ring(&[&first, &second]);
        assert_eq!(keys.current().map(SealingKey::id), ring(&[&first]).current().map(SealingKey::id));
        let id = ring(&[&second]).current().expect("a key").id().to_owned();
        assert!(keys.find(&id).is_some() && id.len() == ID_DIGITS && !format!("{keys:?}").contains(&first));
        for text in ["", " \n", "hunter2", "hunter2hunter2hunter2hunter2", &"zz".repeat(32), &format!("{first}\nhunter2")] {
            let reason = KeyRing::parse(text).expect_err("invalid");
            assert!(reason.contains("32") && !reason.contains("hunter2") && !reason.contains(&first), "{reason}");
        }
    }
}
