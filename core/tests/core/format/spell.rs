//! Formats, read from text and printed.

use fiberloom_core::format::{Format, LevelKind, NAMES};

/// Every list of up to three levels, in every order of modes, is read back as it is printed.
#[test]
fn prints_are_read_back() {
    let orders = [vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]];
    for of in LevelKind::ALL {
        for below in LevelKind::ALL {
            for order in &orders {
                let format = Format { order: order.clone().into(), ..Format::of(vec![of, below, of]) };
                assert_eq!(format.to_string().parse(), Ok(format.clone()));
                assert_eq!(Format::read(&format.to_string(), 3), Ok(format));
            }
        }
    }
    for name in NAMES {
        for format in (0..4).filter_map(|rank| Format::named(name, rank)) {
            assert_eq!(Format::read(&format.to_string(), format.rank()), Ok(format.clone()));
            assert_eq!(Format::read(name, format.rank()), Ok(format));
        }
    }
    assert_eq!(" { dense ,compressed }  order( 1,0 ) ".parse(), Ok(Format::named("csc", 2).expect("a name")));
}

#[test]
fn names_have_orders() {
    let is = |text: &str, other: &str| assert_eq!(text.parse::<Format>(), other.parse());
    is("csr order(1, 0)", "csc");
    is("coo order(2, 0, 1)", "{nonunique, singleton, singleton} order(2, 0, 1)");
    is("dense order( 0,1 )", "{dense, dense}");
    is("csf order(0)", "{compressed}");
    assert_eq!(Format::read("csf order(1, 0)", 2), "{compressed, compressed} order(1, 0)".parse());
    assert_eq!(Format::read("csf order(1, 0)", 3).unwrap_err().why, "its order is no permutation of 3 modes");
}

#[test]
fn what_is_no_format_is_refused() {
    let says = |text: &str, part: &str| {
        let error = text.parse::<Format>().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    says("crs", "expected dense, csr, ");
    says("compressed", "a kind of level is no format");
    says("dense", "any number of modes");
    says("{dense, sparse}", "`sparse` is no kind of level");
    says("{dense", "not closed");
    says("{dense,}", "`` is no kind of level");
    says("{dense, dense} order(1)", "no permutation of 2 modes");
    says("{dense} order(1)", "no permutation of 1 mode");
    says("{dense} csr", "`csr` stands where");
    says("dense order(0, 0)", "no permutation of 2 modes");
    says("dense order(1, x)", "`x` stands in its order");
    says("csc order(0, 1)", "its name says its order: it is `{dense, compressed} order(1, 0)`");
    says("csr order(0)", "no permutation of 2 modes");
    says("sparse order(1, 0)", "no permutation of 1 mode");
    says("crs order(1, 0)", "expected dense, csr, ");
    assert_eq!(Format::read("csr", 3).unwrap_err().why, "it has 2 modes, 3 modes expected");
    assert_eq!(Format::read("csf", 0).unwrap_err().why, "it has one mode or more");
}
