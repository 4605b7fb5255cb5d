"""Queries on tables in DuckDB and SQLite, for `bench/src/relations.rs`: one thread, data loaded beforehand.

Lines on standard input, each answered with `ok …` or `error …`:

    load FOLDER              tables from FOLDER's files, NAME.parquet, made of NAME.csv where it is not there
    libraries QUERY          who has this query
    rows QUERY               its rows, a value and then its key each, as lines of FOLDER/QUERY.rows
    time LIBRARY QUERY N     nanoseconds of each of N calls, after one that does not count
"""

import contextlib
import os
import sqlite3
import sys
import time

import duckdb

MONEY = "sum(l_extendedprice * (1 - l_discount))"
LINE = "l_extendedprice * (1 - l_discount)"
SHIPPED = "l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON'"


def kinds_of_part(brand, containers, least, most, size):
    of = ", ".join(f"'{container}'" for container in containers.split("/"))
    return (
        f"(p_partkey = l_partkey and p_brand = '{brand}' and p_container in ({of}) and l_quantity between {least} and {most}"
        f" and p_size between 1 and {size} and {SHIPPED})"
    )


# Each has the columns of the key, then the value. No order, no limit: arrays have neither.
QUERIES = {
    "q01": "select l_returnflag, l_linestatus, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), sum(l_quantity),"
    " sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)), avg(l_quantity), avg(l_extendedprice), avg(l_discount),"
    " count(*) from lineitem where l_shipdate <= date '1998-09-02' group by 1, 2",
    "q03": f"select l_orderkey, {MONEY} from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey"
    " and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by 1",
    "q04": "select o_orderpriority, count(*) from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'"
    " and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by 1",
    "q05": f"select n_name, {MONEY} from customer, orders, lineitem, supplier, nation, region where c_custkey = o_custkey"
    " and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey and s_nationkey = n_nationkey"
    " and n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'"
    " group by 1",
    "q06": "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01'"
    " and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24",
    "q07": f"select n1.n_name, n2.n_name, year(l_shipdate), {MONEY} from supplier, lineitem, orders, customer, nation n1, nation n2"
    " where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey"
    " and c_nationkey = n2.n_nationkey and ((n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY') or (n1.n_name = 'GERMANY'"
    " and n2.n_name = 'FRANCE')) and l_shipdate between date '1995-01-01' and date '1996-12-31' group by 1, 2, 3",
    "q09": f"select n_name, year(o_orderdate), sum({LINE} - ps_supplycost * l_quantity) from part, supplier, lineitem, partsupp,"
    " orders, nation where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey"
    " and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%' group by 1, 2",
    "q10": f"select c_custkey, {MONEY} from customer, orders, lineitem where c_custkey = o_custkey and l_orderkey = o_orderkey"
    " and o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01' and l_returnflag = 'R' group by 1",
    "q12": "select l_shipmode, sum(case when o_orderpriority in ('1-URGENT', '2-HIGH') then 1 else 0 end) from orders, lineitem"
    " where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate"
    " and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01' group by 1",
    "q13": "select c_count, count(*) from (select c_custkey, count(o_orderkey) c_count from customer left outer join orders"
    " on c_custkey = o_custkey and o_comment not like '%special%requests%' group by 1) group by 1",
    "q14": f"select 100.0 * sum(case when p_type like 'PROMO%' then ({LINE})::double else 0 end) / {MONEY} from lineitem, part"
    " where l_partkey = p_partkey and l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'",
    "q15": f"with r as (select l_suppkey s, {MONEY} t from lineitem where l_shipdate >= date '1996-01-01'"
    " and l_shipdate < date '1996-04-01' group by 1) select s_suppkey, t from supplier, r where s_suppkey = s"
    " and t = (select max(t) from r)",
    "q16": "select p_brand, p_type, p_size, count(distinct ps_suppkey) from partsupp, part where p_partkey = ps_partkey"
    " and p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9)"
    " and ps_suppkey not in (select s_suppkey from supplier where s_comment like '%Customer%Complaints%') group by 1, 2, 3",
    "q18": "select l_orderkey, sum(l_quantity) from lineitem group by 1 having sum(l_quantity) > 300",
    "q19": f"select {MONEY} from lineitem, part where "
    + " or ".join([
        kinds_of_part("Brand#12", "SM CASE/SM BOX/SM PACK/SM PKG", 1, 11, 5),
        kinds_of_part("Brand#23", "MED BAG/MED BOX/MED PKG/MED PACK", 10, 20, 10),
        kinds_of_part("Brand#34", "LG CASE/LG BOX/LG PACK/LG PKG", 20, 30, 15),
    ]),
    "q21": "select s_name, count(*) from supplier, lineitem l1, orders, nation where s_suppkey = l1.l_suppkey"
    " and o_orderkey = l1.l_orderkey and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate and exists (select * from"
    " lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and not exists (select * from lineitem l3"
    " where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate)"
    " and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by 1",
    "triangles": "select count(*) from edge e, edge f, edge g where e.b = f.a and e.a = g.a and f.b = g.b",
    "filtered": "select b, sum(weight * rank) from edge, score where a = v and rank > 0.9 group by b",
}

# The first column after the key is compared; q01 has more, since all of them are computed.
KEYS = {"q01": 2, "q07": 3, "q09": 2, "q16": 3, "q06": 0, "q14": 0, "q19": 0, "triangles": 0}

# Cents and days, as SQLite has neither decimals nor dates; `year` is the date's first four letters.
IN_SQLITE = {
    "q05": QUERIES["q05"].replace("date '", "'").replace("1 - l_discount", "100 - l_discount"),
    "q09": QUERIES["q09"].replace("year(o_orderdate)", "substr(o_orderdate, 1, 4)").replace("1 - l_discount", "100 - l_discount"),
}

TABLES = "region nation part supplier partsupp customer orders lineitem edge score".split()
DECIMALS = "l_extendedprice l_discount l_tax l_quantity ps_supplycost o_totalprice p_retailprice s_acctbal c_acctbal".split()
# What SQLite's queries read, and under which keys it looks rows up.
SQLITE = {
    "lineitem": ("l_orderkey l_partkey l_suppkey l_quantity l_extendedprice l_discount", ["l_orderkey", "l_partkey"]),
    "orders": ("o_orderkey o_custkey o_orderdate", ["o_orderkey", "o_orderdate"]),
    "customer": ("c_custkey c_nationkey", ["c_custkey"]),
    "supplier": ("s_suppkey s_nationkey", ["s_suppkey"]),
    "part": ("p_partkey p_name", ["p_partkey"]),
    "partsupp": ("ps_partkey ps_suppkey ps_supplycost", ["ps_partkey, ps_suppkey"]),
    "nation": ("n_nationkey n_name n_regionkey", ["n_nationkey"]),
    "region": ("r_regionkey r_name", ["r_regionkey"]),
}


class Loaded:
    """Tables in each database."""

    def __init__(self, folder):
        self.folder = folder
        self.duck = duckdb.connect()
        self.duck.execute("set threads = 1")
        for table in TABLES:
            file = os.path.join(folder, table)
            if os.path.exists(f"{file}.csv") and not os.path.exists(f"{file}.parquet"):
                self.convert(file)
            if os.path.exists(f"{file}.parquet"):
                self.duck.execute(f"create table {table} as select * from '{file}.parquet'")
        # The other layout: as our programs cluster lines of Q9.
        if os.path.exists(os.path.join(folder, "lineitem.parquet")):
            self.duck.execute("create table by_part as select * from lineitem order by l_partkey, l_orderkey")
        self.lite = None

    def convert(self, file):
        header = open(f"{file}.csv", encoding="utf-8").readline().strip().split(",")
        types = {name: "decimal(15,2)" for name in DECIMALS if name in header}
        options = f", types = {types}" if types else ""
        # One row group after another, as tables come that are written by one thread.
        self.duck.execute(f"copy (from read_csv('{file}.csv'{options})) to '{file}.part' (format parquet, compression snappy)")
        os.replace(f"{file}.part", f"{file}.parquet")

    def sqlite(self):
        """SQLite with what its queries read, amounts in hundredths, loaded when first asked for."""
        if self.lite is None:
            self.lite = sqlite3.connect(":memory:")
            for table, (columns, keys) in SQLITE.items():
                names = columns.split()
                amount = lambda name: f"cast({name} * 100 as bigint)" if name in DECIMALS else name
                text = lambda name: f"cast({name} as varchar)" if name.endswith("date") else amount(name)
                self.lite.execute(f"create table {table} ({', '.join(names)})")
                rows = self.duck.execute(f"select {', '.join(map(text, names))} from {table}")
                while part := rows.fetchmany(100_000):
                    self.lite.executemany(f"insert into {table} values ({', '.join('?' * len(names))})", part)
                for n, key in enumerate(keys):
                    self.lite.execute(f"create index {table}_{n} on {table} ({key})")
            self.lite.execute("analyze")
        return self.lite

    def libraries(self, query):
        sorted_too = ["duckdb-by-part"] if query == "q09" else []
        return ["duckdb", *sorted_too, *(["sqlite"] if query in IN_SQLITE else [])]

    def call(self, library, query):
        if library == "sqlite":
            lite = self.sqlite()
            return lambda: lite.execute(IN_SQLITE[query]).fetchall()
        text = QUERIES[query].replace("lineitem", "by_part") if library == "duckdb-by-part" else QUERIES[query]
        return lambda: self.duck.execute(text).fetchall()

    def rows(self, query):
        keys = KEYS.get(query, 1)
        with open(os.path.join(self.folder, f"{query}.rows"), "w", encoding="utf-8") as file:
            for row in self.call("duckdb", query)():
                if row[keys]:
                    file.write("\x1f".join(str(cell) for cell in (row[keys], *row[:keys])) + "\n")

    def time(self, library, query, count):
        call = self.call(library, query)
        call()
        times = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - begin)
        return times


def answer(words, held):
    match words:
        case ["load", folder]:
            held[:] = [Loaded(folder)]
            return []
        case ["libraries", query]:
            return held[0].libraries(query)
        case ["rows", query]:
            held[0].rows(query)
            return []
        case ["time", library, query, count]:
            return held[0].time(library, query, int(count))
        case _:
            raise ValueError(f"unknown command {words}")


def main():
    print("ok", f"DuckDB {duckdb.__version__}, SQLite {sqlite3.sqlite_version}", flush=True)
    held = []
    for line in sys.stdin:
        try:
            print("ok", *answer(line.split(), held), flush=True)
        except Exception as e:
            print("error", type(e).__name__, str(e).replace("\n", " "), flush=True)


with contextlib.suppress(KeyboardInterrupt):
    main()
