//! Numbers of 64 bits as text: `0x` and hexadecimal digits.

use crate::Error;

/// A word as text: `0x...`.
pub(crate) fn hex(word: u64) -> String {
    format!("{word:#x}")
}

pub(crate) fn parse_word(text: &str) -> Result<u64, Error> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    digits
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| Error::new(format!("`{text}` is not 0x and up to 16 hexadecimal digits")))
}

pub(crate) mod word {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
    pub(crate) fn serialize<S: Serializer>(word: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::hex(*word))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        super::parse_word(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}

pub(crate) mod words {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(words: &impl AsRef<[u64]>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(words.as_ref().iter().map(|&word| super::hex(word)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: TryFrom<Vec<u64>>>(
        from: D,
    ) -> Result<T, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let words = texts.iter().map(|text| super::parse_word(text)).collect::<Result<Vec<u64>, _>>();
        words.map_err(de::Error::custom)?.try_into().map_err(|_| de::Error::custom("another number of words"))
    }
}
