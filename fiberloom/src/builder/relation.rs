//! Domains, tables, columns: programs over labels (`docs/relations.md`).

use super::expr::Value;
use super::name::ident;
use super::{Builder, Expr, Format, Index, Size, Tensor, Type};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{self, ExprKind, Literal, Sort};

/// What labels and values are: a type, or one of [`text`](labels::text), [`date`](labels::date), [`decimal`](labels::decimal) and, of
/// a column, [`of`](labels::of) a domain.
#[derive(Clone, Debug)]
pub struct Kind(Sort);

impl From<Type> for Kind {
    fn from(ty: Type) -> Kind {
        Kind(Sort::Plain(ty))
    }
}

/// Kinds of labels and values that are no types of numbers.
pub mod labels {
    use super::{Kind, Sort, ident};

    /// `string`
    pub fn text() -> Kind {
        Kind(Sort::Text)
    }

    /// `date`
    pub fn date() -> Kind {
        Kind(Sort::Date)
    }

    /// `timestamp`
    pub fn timestamp() -> Kind {
        Kind(Sort::Timestamp)
    }

    /// `dec(digits)`
    pub fn decimal(digits: u8) -> Kind {
        Kind(Sort::Decimal(digits))
    }

    /// Coordinates of a domain.
    pub fn of(domain: &str) -> Kind {
        Kind(Sort::Domain(ident(domain)))
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column(syntax::Column);

/// `name: kind`
pub fn column(name: &str, kind: impl Into<Kind>) -> Column {
    Column(syntax::Column { name: ident(name), source: None, sort: kind.into().0, fill: None })
}

impl Column {
    /// What the data call it.
    pub fn called(mut self, source: &str) -> Column {
        self.0.source = Some(source.to_string());
        self
    }

    /// What stands for a null, and where no row stands.
    pub fn fill(mut self, value: impl Into<Value>) -> Column {
        self.0.fill = Some((value.into().0, Span::default()));
        self
    }
}

/// `"ASIA"`: a label, a date, a pattern.
pub fn quoted(text: &str) -> Expr {
    Expr::of(ExprKind::Literal(Literal::Text(text.to_string())), 0)
}

/// An index that is computed by a call: `h[year(d[o])]`.
pub fn computed(of: Expr) -> Index {
    Index::computed(of)
}

impl Builder {
    /// `dim name: labels`
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let mut p = Builder::new();
    /// p.domain("CITY", labels::text());
    /// let columns = [column("city", labels::of("CITY")), column("amount", labels::decimal(2))];
    /// p.table("sales", [("row", "N")], columns, None);
    /// let (city, amount, n) = (tensor("city"), tensor("amount"), var("n"));
    /// let total = p.tensor_of("total", labels::decimal(2), ["CITY"], "dense");
    /// p.add(total.at([city.at([n])]), mask(city.at([n]).ne(quoted("Rome")), amount.at([n])));
    /// let program = p.program()?;
    /// assert_eq!(program.relations().domains[0].name, "CITY");
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    pub fn domain(&mut self, name: &str, labels: impl Into<Kind>) {
        self.items.push(syntax::Item::Domain(syntax::Domain { name: ident(name), labels: labels.into().0 }));
    }

    /// `table name[modes] {columns} format`: the tensor says where a row stands, and a column's name is that of a tensor.
    pub fn table<'a, S: Into<Size>>(
        &mut self,
        name: &'a str,
        modes: impl IntoIterator<Item = (&'a str, S)>,
        columns: impl IntoIterator<Item = Column>,
        format: Option<Format>,
    ) -> Tensor<'a> {
        let mode = |(name, size): (&str, S)| syntax::Mode { name: ident(name), size: size.into().0 };
        self.items.push(syntax::Item::Table(syntax::Table {
            name: ident(name),
            modes: modes.into_iter().map(mode).collect(),
            columns: columns.into_iter().map(|column| column.0).collect(),
            format: format.map(|format| format.0),
        }));
        super::tensor(name)
    }

    /// `tensor name: kind[sizes] format`: of dates or decimals.
    pub fn tensor_of<'a, S: Into<Size>>(
        &mut self,
        name: &'a str,
        kind: impl Into<Kind>,
        sizes: impl IntoIterator<Item = S>,
        format: impl Into<Format>,
    ) -> Tensor<'a> {
        self.items.push(syntax::Item::Tensor(syntax::Tensor {
            name: ident(name),
            sort: kind.into().0,
            sizes: sizes.into_iter().map(|s| s.into().0).collect(),
            fill: None,
            format: Some(format.into().0),
        }));
        super::tensor(name)
    }
}
