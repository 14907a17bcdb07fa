/* What SQLite itself does with the log's work: the tables of the log, the same
   rows and as many of them a commit, and none of the checks, hashes and hand-overs.

   raw insert DB ROWS PER EVENTS   appends, and prints events a second
   raw scan DB                     reads them all, and prints events a second

   DB has the log's tables. ROWS holds word, envelope and data, a line each. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 1000, WRITERS = 64, VERSIONS = 100, PAGE = 1000 };

static sqlite3 *db;
static struct { char *word, *envelope, *data; } rows[MOST];

static void die(const char *what) { fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : ""); exit(1); }
static void run(const char *sql) { if (sqlite3_exec(db, sql, 0, 0, 0)) die(sql); }
static sqlite3_stmt *prepare(const char *sql) { sqlite3_stmt *s; if (sqlite3_prepare_v2(db, sql, -1, &s, 0)) die(sql); return s; }
static void once(sqlite3_stmt *s) { if (sqlite3_step(s) != SQLITE_DONE) die(sqlite3_sql(s)); sqlite3_reset(s); }
static void text(sqlite3_stmt *s, int i, const char *t) { sqlite3_bind_text(s, i, t, -1, SQLITE_STATIC); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }

static char *line(FILE *f) {
  char *s = 0; size_t room = 0;
  ssize_t n = getline(&s, &room, f);
  if (n < 0) return 0;
  s[n - 1] = 0;
  return s;
}

static void insert(const char *file, int per, int events) {
  int known = 0;
  FILE *f = fopen(file, "r");
  if (!f) die(file);
  while (known < MOST && (rows[known].word = line(f))) { rows[known].envelope = line(f); rows[known].data = line(f); known++; }
  run("PRAGMA synchronous=FULL"); run("PRAGMA cache_size=-65536"); run("PRAGMA wal_autocheckpoint=2048");
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT"),
    *stream = prepare("INSERT INTO streams (name) VALUES (?)"),
    *event = prepare("INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    *head = prepare("UPDATE head SET position = ?, recorded_at = ?, chain = ?");
  char name[60], id[40], link[32];
  memset(link, 7, sizeof link);
  double began = now();
  for (int i = 0; i < events;) {
    once(begin);
    for (int k = 0; k < per && i < events; k++, i++) {
      int s = i / (WRITERS * VERSIONS) * WRITERS + i % WRITERS + 1, version = i / WRITERS % VERSIONS + 1, r = i % known;
      if (version == 1) {
        snprintf(name, sizeof name, "article-home/art_%026d", s);
        text(stream, 1, name);
        once(stream);
      }
      snprintf(id, sizeof id, "ev_%026d", i);
      sqlite3_bind_int64(event, 1, i + 1);
      sqlite3_bind_int64(event, 2, s);
      sqlite3_bind_int64(event, 3, version);
      text(event, 4, id);
      text(event, 5, rows[r].word);
      sqlite3_bind_int64(event, 6, 1);
      sqlite3_bind_int64(event, 7, 1796025600000000000L + i);
      text(event, 8, rows[r].envelope);
      text(event, 9, rows[r].data);
      sqlite3_bind_blob(event, 10, link, sizeof link, SQLITE_STATIC);
      once(event);
    }
    sqlite3_bind_int64(head, 1, i);
    sqlite3_bind_int64(head, 2, 1796025600000000000L + i);
    sqlite3_bind_blob(head, 3, link, sizeof link, SQLITE_STATIC);
    once(head);
    once(commit);
  }
  printf("%.0f\n", events / (now() - began));
}

static void scan(void) {
  sqlite3_stmt *s = prepare("SELECT e.position, s.name, e.version, e.id, e.word, e.revision, e.recorded_at, e.envelope, e.data, e.link FROM events e JOIN streams s ON s.id = e.stream WHERE e.position > 0 ORDER BY e.position");
  long n = 0;
  static void *kept[10 * PAGE]; /* a page of rows is handed on at once: what they hold is copied */
  double began = now();
  while (sqlite3_step(s) == SQLITE_ROW) {
    void **row = kept + n++ % PAGE * 10;
    for (int i = 0; i < 10; i++)
      if (sqlite3_column_type(s, i) == SQLITE_INTEGER) sqlite3_column_int64(s, i);
      else {
        const void *from = sqlite3_column_blob(s, i);
        int size = sqlite3_column_bytes(s, i);
        free(row[i]);
        row[i] = memcpy(malloc(size), from, size);
      }
  }
  printf("%.0f\n", n / (now() - began));
}

int main(int n, char **a) {
  if (n < 3 || sqlite3_open(a[2], &db)) die("open");
  if (n == 6 && !strcmp(a[1], "insert")) insert(a[3], atoi(a[4]), atoi(a[5]));
  else if (n == 3 && !strcmp(a[1], "scan")) scan();
  else die("usage");
  return sqlite3_close_v2(db); /* whatever is still prepared */
}
