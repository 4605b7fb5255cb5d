//! Relations: a program over labels becomes one over coordinates.
//!
//! ```text
//!  syntax with domains, tables, texts ──relate──▶ plain syntax + Relations ──bind──▶ operands
//!                                                                  │
//!  o_orderdate[o] >= "1994-01-01"            8766 <= o_orderdate[o]
//!  r_name[r] == "ASIA"                       r_name[r] == REGION_at[]         REGION_at: the coordinate of "ASIA"
//!  like(p_name[p], "%green%")                p_name_is[p]                     p_name_is: true where the name is like that
//!  n_name[s_nationkey[s]]                    coalesce(n_name[~s_nationkey[s]], -1)
//! ```
//!
//! A coordinate of a domain is its label's rank among all labels that the data bind to the domain; none, what a null stands for, is −1.
//! So labels that are compared are coordinates that are compared, and what a label alone decides is asked when data are bound, once a
//! label. The meaning over labels is in `semantics::relation`; `docs/relations.md` is the page for users.
//!
//! ```text
//!  declare.rs      domains, tables, tensors: what each name holds
//!  scope.rs        index variables: which domain each runs over
//!  expression.rs   expressions, by what their values are
//!  called.rs       functions that are called
//!  compared.rs     comparisons
//!  decimal.rs      decimals compared, whatever digits they have
//!  index.rs        indices and statements
//!  function.rs     functions of labels as arrays
//!  label.rs        texts as dates and decimals; `like`
//!  text.rs         texts that are changed
//!  time.rs         timestamps: differences, parts, what they are cut down to
//!  calendar.rs     year, month, day as functions of the language
//!  rows.rs         which rows a result that is a table has
//!  statistic.rs    averages
//!  routine.rs      other functions that expressions call
//!  guard.rs        results beside results, which say whether 64 bits hold them
//! ```

mod calendar;
mod called;
mod compared;
mod decimal;
mod declare;
mod expression;
mod function;
mod guard;
mod index;
mod label;
mod routine;
mod rows;
mod scope;
mod statistic;
mod text;
mod time;

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::notation::syntax::{self, Sort};
use fiberloom_core::notation::{Diagnostic, MOST_DIGITS, Span, typed};
use fiberloom_core::stack::with_room;
use fiberloom_passes::check::{check_depth, check_related};
pub use label::{Test, date, days, decimal};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
pub use text::{Change, Image};
pub use time::{DAY, timestamp, written as timestamp_written};

/// What stands for a null in a column of a domain: no coordinate.
pub const NONE: i64 = -1;

/// What a program says of labels.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Relations {
    /// Its domains, in the order of the text.
    pub domains: Vec<Domain>,
    /// Its tables, in the order of the text.
    pub tables: Vec<Table>,
    /// Operands of the plain program that labels and data say, beside the tables' own.
    pub asked: Vec<Asked>,
    /// What modes and values of the results are, by the results' names.
    pub results: BTreeMap<String, Shown>,
    /// By the name of a [guarded](Fitted::guarded) result that of the `f64` result beside it: of the same modes, or of a result of a block
    /// the largest value that it had.
    pub about: BTreeMap<String, String>,
    /// What such largest values are of: results that are given to nobody.
    pub hidden: BTreeSet<String>,
}

/// How a program is fitted to its data. It means the same.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Fitted {
    /// Columns that are stored in other types than their values have, and converted where they are read.
    pub stored: BTreeMap<String, Type>,
    /// Results of decimals which 64 bits may not hold: beside each there is one that says so.
    pub guarded: BTreeSet<String>,
    /// Results of floats made of sums of integers which 64 bits may not hold: these are added in floats.
    pub floats: BTreeSet<String>,
    /// The same of results that a `repeat` block defines: what they were in some turn counts, too.
    pub turns: BTreeSet<String>,
    /// Whether conditions compare sums and products of decimals which 64 bits may not hold.
    pub wide: bool,
}

/// Coordinates that have labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name: a size of the plain program.
    pub name: String,
    /// What its labels are.
    pub labels: Labels,
    /// Where it is declared.
    pub span: Span,
}

/// What labels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// Integers of a type.
    Integer(Type),
    /// Days from 1970-01-01 on.
    Date,
    /// Microseconds from 1970-01-01 00:00 on.
    Timestamp,
    /// Integers, of which this power of ten is one.
    Decimal(u8),
    /// Texts, in the order of their bytes.
    Text,
}

impl Labels {
    /// A column of such labels as one of values.
    pub fn holds(self) -> Holds {
        match self {
            Labels::Integer(ty) => Holds::Plain(ty),
            Labels::Date => Holds::Date,
            Labels::Timestamp => Holds::Timestamp,
            Labels::Decimal(digits) => Holds::Decimal(digits),
            Labels::Text => Holds::Text,
        }
    }
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// An integer; the days of a date; the microseconds of a timestamp; a decimal times its power of ten.
    Number(i64),
    /// A text.
    Text(String),
}

/// A table: where a row stands, and what stands in it. In the plain program it is a tensor of `bool` of its name, and one for each column,
/// all over the same modes and in the same format.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What says where a row stands.
    pub modes: Vec<Mode>,
    /// What stands in it.
    pub columns: Vec<Column>,
    /// Whether statements define its columns: it is a result.
    pub made: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A mode of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// What the data call the column that says it.
    pub source: String,
    /// What it runs over.
    pub over: Over,
    /// Where it is declared.
    pub span: Span,
}

/// What a mode runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Labels of a domain, by its place.
    Domain(usize),
    /// Numbers of rows below the modes before it, in the order of the data.
    Row,
    /// Integers that are coordinates.
    Coordinate,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; the tensor's, unless it holds texts, of which there is none.
    pub name: String,
    /// What the data call it.
    pub source: String,
    /// What it holds.
    pub holds: Holds,
    /// What stands for a null; where there is none, a null is refused, unless the column is of a domain.
    pub null: Option<Value>,
    /// Where it is declared.
    pub span: Span,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Themselves.
    Plain(Type),
    /// Days from 1970-01-01 on, in an `i64`.
    Date,
    /// Microseconds from 1970-01-01 00:00 on, in an `i64`.
    Timestamp,
    /// In an `i64`, of which this power of ten is one.
    Decimal(u8),
    /// Coordinates of a domain by its place, in an `i64`; −1 is none.
    Domain(usize),
    /// Texts, which are asked and not kept.
    Text,
}

/// An operand that binding makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The tensor's name.
    pub tensor: String,
    /// What it holds.
    pub what: What,
}

/// What an operand that binding makes holds.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// `bool[D]`: nothing. It says how many labels the domain has.
    Extent(usize),
    /// `i64[D]`: the labels, which are numbers.
    Values(usize),
    /// `i64[D]`: how many characters the labels have, which are texts.
    Lengths(usize),
    /// `i64[D]`: of each label of the first domain the coordinate, in the second, of what it becomes, which is a label there.
    Mapped(usize, Image, usize),
    /// `i64[]`: a label's coordinate; −2 where no data have the label.
    At(usize, Label),
    /// `i64[]`: how many labels are less.
    Below(usize, Label),
    /// `i64[]`: how many labels are not greater.
    UpTo(usize, Label),
    /// `bool[D]`: of which labels, which are texts, this is so.
    Passes(usize, Test),
    /// A table's column of texts, by their places: `bool` over the table's modes, of which texts this is so.
    Column {
        /// The table.
        table: usize,
        /// Its column.
        column: usize,
        /// What is asked.
        test: Test,
    },
}

/// What a result's modes and values are.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// For each mode what it is called, and its domain.
    pub modes: Vec<(String, Option<usize>)>,
    /// What its values are.
    pub holds: Holds,
}

/// Checks a program, over labels or over coordinates.
///
/// # Errors
/// All that is wrong with it, in the order of the text.
pub fn check(program: &syntax::Program) -> Result<typed::Program, Vec<Diagnostic>> {
    check_fitted(program, &Fitted::default()).map(|(typed, _)| typed)
}

/// Checks a program that is fitted to its tables' data: columns of integers, dates, decimals and coordinates are stored in narrower integers
/// than their values have, and results of decimals are guarded. Beside it stands what it says of labels.
///
/// # Errors
/// All that is wrong with it, in the order of the text.
pub fn check_fitted(
    program: &syntax::Program,
    fitted: &Fitted,
) -> Result<(typed::Program, Relations), Vec<Diagnostic>> {
    with_room(|| {
        check_depth(program)?;
        let (plain, relations) = match relate(program, fitted)? {
            Some((plain, relations)) => (Cow::Owned(plain), relations),
            None => (Cow::Borrowed(program), Relations::default()),
        };
        let typed = check_related(&plain)?;
        Ok((typed::Program { tables: relations.structures(), ..typed }, relations))
    })
}

impl Relations {
    /// The table of each operand that belongs to one, by the operand's name.
    fn structures(&self) -> BTreeMap<String, usize> {
        let tables = self.tables.iter().enumerate().filter(|(_, table)| !table.made);
        let own = tables.flat_map(|(n, table)| {
            let columns = table.columns.iter().map(|column| &column.name);
            [&table.name].into_iter().chain(columns).map(move |name| (name.clone(), n))
        });
        let asked = self.asked.iter().filter_map(|asked| match asked.what {
            What::Column { table, .. } => Some((asked.tensor.clone(), table)),
            _ => None,
        });
        own.chain(asked).collect()
    }
}

/// The plain program that a program over labels becomes, fitted to data, and what it says of labels; `None` of a program that has none.
///
/// # Errors
/// All that is wrong with its labels, in the order of the text.
pub fn relate(
    program: &syntax::Program,
    fitted: &Fitted,
) -> Result<Option<(syntax::Program, Relations)>, Vec<Diagnostic>> {
    if program.labelled().next().is_none() {
        return Ok(None);
    }
    let mut relate = declare::Relate::default();
    relate.fitted.clone_from(fitted);
    relate.declarations(&program.items);
    let items = relate.items(&program.items);
    if !relate.errors.is_empty() {
        relate.errors.sort_by_key(|d| d.span.start);
        return Err(relate.errors);
    }
    let items = relate.declared(items);
    Ok(Some((syntax::Program { items }, relate.out)))
}
