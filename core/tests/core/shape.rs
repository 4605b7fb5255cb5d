//! Extents in classes by how many bits a coordinate needs.

use fiberloom_core::shape::Magnitude;

#[test]
fn a_magnitude_holds_its_extents_and_little_more() {
    for (extent, bits) in [(0, 16), (1, 16), (1 << 16, 16), ((1 << 16) + 1, 21), (1 << 21, 21), (1 << 31, 31)] {
        assert_eq!(Magnitude::of(extent).bits(), bits, "{extent}");
    }
    for extent in [(1 << 31) + 1, i64::MAX as u64, u64::MAX] {
        assert_eq!(Magnitude::of(extent).bits(), 63, "{extent}");
    }
}
