//! `figures!` declares a part of the results once. [`crate::catalogue`] is written in it.
//!
//! ```text
//! figures! {
//!     /// One subflow.
//!     pub struct Subflow: Subflow, optional, under "" = |row| row.subflow {
//!         retransmissions: u64, "packets", "sent again";     type, unit, meaning; a column of the same name
//!         cc: String as connection_cc, "", "the algorithm";  a column of another name
//!         copies: u64 as _, "packets", "sent as copies";     no column: in JSON and in statistics only
//!         /// Over time.
//!         quantiles: Option<Quantiles>, ..Quantiles;         the figures of another struct stand here
//!         /// In order of creation.
//!         subflows: Vec<Subflow>;                            in JSON only
//!             + share: Option<f64>, "%", "of the bottleneck" = |row| share(row);
//!     }                                                      derived: a column that is not in JSON
//! }
//! ```
//!
//! The head gives the level, whether every row has the part, its place in JSON and how to find it from a row. The macro
//! declares the struct with its JSON, a [`Figure`](crate::catalogue::Figure) for each line (`Subflow::retransmissions`), the
//! order of columns (`Subflow::ENTRIES`) and the numbers for statistics.

macro_rules! figures {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident: $level:ident, $presence:ident, under $prefix:literal = |$row:ident| $find:expr => {
            $(
                $(#[$more:meta])*
                $field:ident: $type:ty $(as $column:tt)? $(, $unit:literal, $meaning:literal)? $(, ..$group:ident)?;
                $(+ $derived:ident: $kind:ty, $of:literal, $about:literal = |$own:ident| $get:expr;)*
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
        pub struct $name {
            $($(#[doc = $meaning])? $(#[$more])* pub $field: $type,)*
        }

        #[allow(non_upper_case_globals, missing_docs)]
        impl $name {
            $(
                figures!(@figure $name [$level $presence $prefix] $field $type [$($column)?] $($unit, $meaning)?);
                $(figures!(@derived $level $derived $kind, $of, $about, $own, $get);)*
            )*

            /// The figures, in the order of tables.
            pub const ENTRIES: &'static [$crate::catalogue::Entry] = &[$(
                figures!(@entry $field [$($column)?] [$($unit)?] [$($group)?]),
                $($crate::catalogue::Entry::Figure(&Self::$derived),)*
            )*];

            #[allow(clippy::unnecessary_wraps)]
            fn find<'a>($row: &$crate::catalogue::Row<'a>) -> Option<&'a Self> {
                $find
            }
        }

        impl $crate::catalogue::Numbers for $name {
            fn numbers(&self, visit: &mut $crate::catalogue::Visit<'_>) {
                $(figures!(@visit self visit $field [$($unit)?] [$($group)?]);)*
            }
        }
    };

    // Columns that are derived from what JSON does not show.
    (
        $(#[$attribute:meta])*
        pub struct $name:ident: $level:ident;
        $($derived:ident: $kind:ty, $of:literal, $about:literal = |$own:ident| $get:expr;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        #[allow(non_upper_case_globals, missing_docs)]
        impl $name {
            $(figures!(@derived $level $derived $kind, $of, $about, $own, $get);)*

            /// The figures, in the order of tables.
            pub const ENTRIES: &'static [$crate::catalogue::Entry] =
                &[$($crate::catalogue::Entry::Figure(&Self::$derived)),*];
        }
    };

    // Columns of a table that is not about runs: each row brings its values.
    (const $name:ident; $($column:literal: $type:ty, $unit:literal, $meaning:literal;)*) => {
        const $name: &[$crate::catalogue::Entry] = &[$($crate::catalogue::Entry::Figure({
            const FIGURE: $crate::catalogue::Figure = figures!(@new Metrics "" $column, $type, true, $unit, $meaning, Given);
            &FIGURE
        })),*];
    };

    (@figure $name:ident [$($at:tt)+] $field:ident $type:ty [$($column:tt)?]) => {};
    (@figure $name:ident [$level:ident $presence:ident $prefix:literal] $field:ident $type:ty [$($column:tt)?]
        $unit:literal, $meaning:literal) => {
        pub const $field: $crate::catalogue::Figure = {
            fn value<'a>(row: &$crate::catalogue::Row<'a>) -> $crate::table::Value<'a> {
                $name::find(row).map_or($crate::table::Value::Null, |own| {
                    $crate::catalogue::Datum::value(&own.$field, row)
                })
            }
            figures!(@new $level (concat!($prefix, stringify!($field))) (figures!(@name $field $($column)?)), $type,
                figures!(@$presence), $unit, $meaning, Field(value))
        };
    };
    (@derived $level:ident $field:ident $type:ty, $unit:literal, $meaning:literal, $row:ident, $get:expr) => {
        pub const $field: $crate::catalogue::Figure = {
            fn value<'a>($row: &$crate::catalogue::Row<'a>) -> $crate::table::Value<'a> {
                $get.into()
            }
            figures!(@new $level "" (stringify!($field)), $type, false, $unit, $meaning, Field(value))
        };
    };
    (@new $level:ident $path:tt $name:tt, $type:ty, $nullable:expr, $unit:literal, $meaning:literal, $($get:tt)+) => {
        $crate::catalogue::Figure {
            level: $crate::catalogue::Level::$level,
            path: $path,
            name: $name,
            kind: <$type as $crate::catalogue::Datum>::KIND,
            nullable: $nullable || <$type as $crate::catalogue::Datum>::NULLABLE,
            unit: $unit,
            meaning: $meaning,
            value: $crate::catalogue::Get::$($get)+,
        }
    };

    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident _) => { "" };
    (@name $field:ident $column:ident) => { stringify!($column) };
    (@optional) => { true };
    (@always) => { false };

    (@entry $field:ident [] [] [$group:ident]) => { $crate::catalogue::Entry::Group($group::ENTRIES) };
    (@entry $field:ident [$($column:ident)?] [$unit:literal] []) => { $crate::catalogue::Entry::Figure(&Self::$field) };
    (@entry $field:ident $column:tt $unit:tt []) => { $crate::catalogue::Entry::Group(&[]) };

    (@visit $self:ident $visit:ident $field:ident [] []) => {};
    (@visit $self:ident $visit:ident $field:ident [] [$group:ident]) => {
        $crate::catalogue::Numbers::numbers(&$self.$field, $visit)
    };
    (@visit $self:ident $visit:ident $field:ident [$unit:literal] []) => {
        $crate::catalogue::Datum::numbers(&$self.$field, &Self::$field, $visit)
    };
}
