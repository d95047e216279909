-- SPDX-License-Identifier: MIT OR GPL-2.0-only
-- A table of 300,000 rows in memory: filled, indexed, sorted, joined, grouped.
PRAGMA temp_store = memory;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO item SELECT i, printf('item-%x-%d', (i * 2654435761) & 4294967295, i % 977), (i * 7919) % 1000, i * 0.25 FROM n;
CREATE TABLE kind(id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO kind SELECT DISTINCT kind, 'kind ' || kind FROM item;
CREATE INDEX item_kind ON item(kind);
SELECT count(*), sum(price) FROM item;
SELECT name FROM item ORDER BY name LIMIT 20;
SELECT k.title, count(*), max(i.name) FROM item i JOIN kind k ON k.id = i.kind GROUP BY k.title ORDER BY k.title LIMIT 200;
SELECT substr(name, 6, 2) AS prefix, count(*), group_concat(id) FROM item GROUP BY prefix ORDER BY prefix LIMIT 20;
SELECT a.id, b.id FROM item a JOIN item b ON a.kind = b.kind AND a.id < b.id WHERE a.id < 300 ORDER BY a.id, b.id LIMIT 500;
