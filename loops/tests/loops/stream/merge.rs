//! Lists that are merged: intersected, united, and met by lanes.

use fiberloom_loops::stream::*;
use std::ops::Range;

const EXTENT: u32 = 5;

fn list(set: u32) -> Vec<i64> {
    (0..EXTENT as i64).filter(|i| set >> i & 1 == 1).collect()
}

/// Runs `f` on the lists of these sets and returns the coordinates that it came to, with who was present.
fn run(sets: &[u32], f: impl Fn(&mut Concrete, &[List<i64>], &mut Vec<(i64, u32)>)) -> Vec<(i64, u32)> {
    let lists: Vec<Vec<i64>> = sets.iter().map(|s| list(*s)).collect();
    let arrays: Vec<&[i64]> = lists.iter().map(|l| &l[..]).collect();
    let mut d = Concrete::new(&arrays, 200);
    let opened: Vec<List<i64>> = (0..arrays.len())
        .map(|n| List::open(&mut d, "p", ListFiber::unique(BufferId(n as u32), 0, arrays[n].len() as i64)))
        .collect();
    let mut seen = Vec::new();
    f(&mut d, &opened, &mut seen);
    assert_eq!(d.fault(), None, "{sets:?}");
    seen
}

fn expected(sets: &[u32], keep: impl Fn(u32) -> bool) -> Vec<(i64, u32)> {
    let present = |i: u32| sets.iter().enumerate().map(|(n, s)| (s >> i & 1) << n).sum::<u32>();
    (0..EXTENT).map(|i| (i as i64, present(i))).filter(|(_, p)| *p != 0 && keep(*p)).collect()
}

/// All pairs of lists over five coordinates: the intersection, and the union with its two tails.
#[test]
fn two_lists() {
    for (a, b) in (0..1 << EXTENT).flat_map(|a| (0..1 << EXTENT).map(move |b| (a, b))) {
        let both = run(&[a, b], |d, l, seen| {
            intersect(d, &[&l[0], &l[1]], &mut |_, at| seen.push((*at, 3)));
        });
        assert_eq!(both, expected(&[a, b], |p| p == 3));
        let both = run(&[a, b], |d, l, seen| {
            meet_lanes(d, &l[0], &l[1], &mut |d, at, [_, entry], met| {
                assert!(!met || l[1].coordinate(d, &entry) == *at);
                seen.extend(met.then_some((*at, 3)));
            });
        });
        assert_eq!(both, expected(&[a, b], |p| p == 3));
        let all = run(&[a, b], |d, l, seen| {
            meet_lanes(d, &l[0], &l[1], &mut |_, at, _, _| seen.push((*at, 1)));
            l[0].each(d, "q", &mut |d, entry| seen.push((l[0].coordinate(d, &entry), 1)));
        });
        assert_eq!(all, expected(&[a], |p| p == 1), "each of the first, beside the second and behind its end");
        for gallop in 0..4 {
            let both = run(&[a, b], |d, l, seen| {
                let lists = [(&l[0], gallop & 1 != 0), (&l[1], gallop & 2 != 0)];
                leap(d, &lists, &mut |_, at| seen.push((*at, 3)));
            });
            assert_eq!(both, expected(&[a, b], |p| p == 3));
        }
        let either = run(&[a, b], |d, l, seen| {
            unite_two(d, &l[0], &l[1], &mut |_, side, at| {
                seen.push((*at, [3, 1, 2][side as usize]));
            });
            for (n, tail) in l.iter().enumerate() {
                tail.each(d, "p", &mut |d, p| {
                    let at = tail.coordinate(d, &p);
                    seen.push((at, 1 << n));
                });
            }
        });
        assert_eq!(either, expected(&[a, b], |_| true));
    }
}

/// Intersects two lists of up to 20 entries, with steps of 1 to 3 and various offsets: blocks end anywhere, and the elements behind a
/// list in its array are coordinates of the other. One list is in a view that is shifted by 5 and hides its first entries.
#[test]
fn lists_of_blocks() {
    let sizes = (0..=20).flat_map(|m| (0..=20).map(move |n| (m, n)));
    let steps = [(1, 1, 0), (1, 1, 3), (1, 2, 1), (2, 1, 9), (3, 2, 0), (2, 3, -10)];
    for ((m, n), (r, s, from)) in sizes.flat_map(|size| steps.map(|step| (size, step))) {
        let first: Vec<i64> = (0..m + 8).map(|k| 10 + r * k).collect();
        let second: Vec<i64> = (0..n + 8).map(|k| 15 + from + s * k).collect();
        let arrays = [&first[..], &second[..]];
        let mut d = Concrete::new(&arrays, 200);
        let a = List::open(&mut d, "p", ListFiber::unique(BufferId(0), 0, m));
        let view = View { shift: Some(Shift::Up(5)), start: Some(15), ..View::default() };
        let b = List::open(&mut d, "p", ListFiber { view, ..ListFiber::unique(BufferId(1), 0, n) });
        let (mut met, mut last) = (vec![], 0);
        meet_lanes(&mut d, &a, &b, &mut |_, at, [p, q], here| {
            assert!(*at > last && first[p.position as usize] == *at && (0..n).contains(&q.position));
            last = *at;
            if *here {
                met.push((*at, p.position, q.position));
            }
        });
        assert_eq!(d.fault(), None, "{m} {n}");
        let place = |at: i64| second[..n as usize].iter().position(|c| c - 5 == at);
        let both = |p: usize| Some((first[p], p as i64, place(first[p])? as i64));
        assert_eq!(met, (0..m as usize).filter_map(both).collect::<Vec<_>>(), "{first:?} {second:?}");
    }
}

/// The positions of an entry.
fn positions(d: &mut Concrete, entry: &Entry<i64>) -> Range<i64> {
    let end = entry.run.as_ref().map_or(entry.position + 1, |run| run.end(d));
    entry.position..end
}

/// A list that says that it has lanes meets others by them: each coordinate that both have comes once, with all of its positions.
/// Lists are whole, repeat, or are under a stride, with entries between two steps.
#[test]
fn lists_with_lanes_meet_by_them() {
    let kinds = [(1, 1), (1, 3), (2, 1)]; // The stride, and how often a coordinate stands there.
    let steps = [1, 2, 3, 17];
    let all = || kinds.into_iter().flat_map(move |kind| steps.map(|step| (kind, step)));
    let mut by_lanes = 0;
    for (first, second, n) in all().flat_map(|a| all().flat_map(move |b| (0..=20).map(move |n| (a, b, n)))) {
        let array = |((_, times), step): ((i64, i64), i64)| (0..n).map(move |k| k / times * step).collect::<Vec<_>>();
        let arrays = [array(first), array(second)];
        let slices = [&arrays[0][..], &arrays[1][..]];
        let mut d = Concrete::new(&slices, 400);
        let mut open = |b: usize, ((stride, times), _): ((i64, i64), i64)| {
            // One range of both.
            let view = View { stride: (stride > 1).then_some(stride), stop: Some(400 * stride), ..View::default() };
            let fiber = ListFiber { view, repeats: times > 1, ..ListFiber::unique(BufferId(b as u32), 0, n) };
            List::open(&mut d, "p", fiber)
        };
        let (a, b) = (open(0, first), open(1, second));
        let mut met = vec![];
        if a.has_lanes() && b.has_lanes() {
            by_lanes += 1;
            meet_lanes(&mut d, &a, &b, &mut |d, at, entries, here| {
                let [p, q] = entries.map(|entry| positions(d, &entry));
                met.extend(here.then_some((*at, p, q)));
            });
        } else {
            intersect(&mut d, &[&a, &b], &mut |d, at| {
                let [p, q] = [&a, &b].map(|list| {
                    let entry = list.entry(d);
                    positions(d, &entry)
                });
                met.push((*at, p, q));
            });
        }
        assert_eq!(d.fault(), None, "{first:?} {second:?} {n}");
        let at = |list: &[i64], (stride, _): (i64, i64), i: i64| {
            let stored = |c: &i64| *c < i * stride;
            let begin = list.iter().take_while(|c| stored(c)).count() as i64;
            begin..begin + list.iter().filter(|c| **c == i * stride).count() as i64
        };
        let both = |i: i64| (i, at(&arrays[0], first.0, i), at(&arrays[1], second.0, i));
        let wanted: Vec<_> = (0..400).map(both).filter(|(_, p, q)| !p.is_empty() && !q.is_empty()).collect();
        assert_eq!(met, wanted, "{first:?} {second:?} {n}");
    }
    assert!(by_lanes > 300, "{by_lanes} pairs have lanes");
}

/// Whatever a mark says, a window of a list begins at its first entry, and the mark says where that is; so does a
/// finger, wherever it was.
#[test]
fn marks_are_guesses() {
    for (n, fingered) in [(1, false), (3, false), (40, false), (1, true), (3, true), (40, true)] {
        // Others are stored before and behind.
        let crd: Vec<i64> = (0..n + 10).map(|k| (7 * k) % (n + 10) * 3).collect();
        let mut list = crd[..n as usize].to_vec();
        list.sort();
        let crd = [vec![500; 5], list, vec![1; 5]].concat();
        let (begin, end) = (5, 5 + n);
        for (mark, start) in (-3..n + 13).flat_map(|mark| (0..3 * n + 35).map(move |start| (mark, start))) {
            let arrays = [&crd[..]];
            let mut d = Concrete::new(&arrays, 400).with_table(2);
            d.store(TABLE, &0, &mark);
            d.store(TABLE, &1, &mark);
            let finger = fingered.then(|| d.state("p", end));
            let mark_at = Some(Mark { table: TABLE, at: 1 });
            let view = View { start: Some(start), mark: mark_at, finger, ..View::default() };
            let list = List::open(&mut d, "p", ListFiber { view, ..ListFiber::unique(BufferId(0), begin, end) });
            assert!(finger.is_none_or(|p| d.get(p) == list.entry(&mut d).position));
            let first = (begin..end).find(|p| crd[*p as usize] >= start).unwrap_or(end);
            assert_eq!((d.fault(), list.entry(&mut d).position), (None, first), "{mark} {start}");
            assert_eq!([0, 1].map(|at| d.load(TABLE, &at)), [mark, first], "{mark} {start}");
        }
    }
}

/// All triples of lists over four coordinates: intersections, and the wide loop for `a ∩ (b ∪ c)`.
#[test]
fn three_lists() {
    for n in 0..1u32 << 12 {
        let sets = [n & 15, n >> 4 & 15, n >> 8];
        let all = run(&sets, |d, l, seen| {
            intersect(d, &[&l[0], &l[1], &l[2]], &mut |_, at| seen.push((*at, 7)));
        });
        assert_eq!(all, expected(&sets, |p| p == 7));
        for gallop in 0..8 {
            let all = run(&sets, |d, l, seen| {
                let lists = [(&l[0], gallop & 1 != 0), (&l[1], gallop & 2 != 0), (&l[2], gallop & 4 != 0)];
                leap(d, &lists, &mut |_, at| seen.push((*at, 7)));
            });
            assert_eq!(all, expected(&sets, |p| p == 7));
        }
        let some = run(&sets, |d, l, seen| {
            let live = |_: &mut Concrete, v: &[bool]| v[0] && (v[1] || v[2]);
            wide(d, &[&l[0], &l[1], &l[2]], &live, &mut |_, at, here| {
                let present = here.iter().enumerate().map(|(n, h)| (*h as u32) << n).sum();
                seen.push((*at, present));
            });
        });
        let wanted = |p: u32| p & 1 != 0 && p & 6 != 0;
        let kept: Vec<_> = some.into_iter().filter(|(_, p)| wanted(*p)).collect();
        assert_eq!(kept, expected(&sets, wanted));
    }
}
