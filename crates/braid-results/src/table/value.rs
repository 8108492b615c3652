//! One value of a table.

use std::borrow::Cow;

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// True or false.
    Bool,
    /// A signed 64-bit number: differences of counters are safe.
    Integer,
    /// An unsigned 64-bit number.
    Unsigned,
    /// A 64-bit floating-point number.
    Real,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Missing.
    Null,
    /// See [`Kind::Text`].
    Text(Cow<'a, str>),
    /// See [`Kind::Bool`].
    Bool(bool),
    /// See [`Kind::Integer`].
    Integer(i64),
    /// See [`Kind::Unsigned`].
    Unsigned(u64),
    /// See [`Kind::Real`].
    Real(f64),
}

macro_rules! of_kind {
    ($($name:ident $kind:ident $type:ty;)*) => {
        /// The value if it is of that kind.
        #[allow(missing_docs)]
        impl<'a> Value<'a> {
            $(pub fn $name(self) -> Option<$type> {
                if let Self::$kind(value) = self { Some(value) } else { None }
            })*
        }
    };
}

of_kind! {
    text Text Cow<'a, str>;
    bool Bool bool;
    integer Integer i64;
    unsigned Unsigned u64;
    real Real f64;
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(count: u32) -> Self {
        Self::Integer(count.into())
    }
}

/// A count: none reaches 2^63.
impl From<u64> for Value<'_> {
    fn from(count: u64) -> Self {
        Self::Integer(count as i64)
    }
}

impl From<usize> for Value<'_> {
    fn from(count: usize) -> Self {
        Self::Integer(count as i64)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
