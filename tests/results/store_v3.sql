PRAGMA application_id=2004182866;
PRAGMA user_version=3;
BEGIN TRANSACTION;
CREATE TABLE outcomes (
    result INTEGER NOT NULL REFERENCES results ON DELETE CASCADE, place INTEGER NOT NULL, item TEXT NOT NULL,
    measure TEXT NOT NULL, value REAL, judged INTEGER NOT NULL, groups TEXT NOT NULL, detail TEXT NOT NULL,
    seal BLOB, PRIMARY KEY (result, place)) WITHOUT ROWID;
INSERT INTO "outcomes" VALUES(1,0,'0','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 0","bad":"back\\slash"}',X'5329105F847F3549');
INSERT INTO "outcomes" VALUES(1,1,'0','margin',-0.25,0,'{}','{}',X'3C1F6A984707FC53');
INSERT INTO "outcomes" VALUES(1,2,'1','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 1","bad":"back\\slash"}',X'B0A5743B03540F36');
INSERT INTO "outcomes" VALUES(1,3,'1','margin',0.25,0,'{}','{}',X'B1B3DD77C1AAAEC0');
INSERT INTO "outcomes" VALUES(1,4,'2','accuracy',1.0,1,'{"half":"second"}','{"good":"She said \"naïve\" 2","bad":"back\\slash"}',X'9B5C03F457B8E6E6');
INSERT INTO "outcomes" VALUES(1,5,'2','margin',0.75,0,'{}','{}',X'0FBD5D35B305D122');
INSERT INTO "outcomes" VALUES(1,6,'3','accuracy',NULL,0,'{"half":"second"}','{"good":"She said \"naïve\" 3","bad":"back\\slash"}',X'753310DF02D83661');
INSERT INTO "outcomes" VALUES(1,7,'3','margin',1.25,0,'{}','{}',X'DC12FEAE17124B33');
INSERT INTO "outcomes" VALUES(2,0,'0','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 0","bad":"back\\slash"}',X'5329105F847F3549');
INSERT INTO "outcomes" VALUES(2,1,'0','margin',-0.25,0,'{}','{}',X'3C1F6A984707FC53');
INSERT INTO "outcomes" VALUES(2,2,'1','accuracy',0.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 1","bad":"back\\slash"}',X'72463CAF8FDE63EC');
INSERT INTO "outcomes" VALUES(2,3,'1','margin',0.25,0,'{}','{}',X'B1B3DD77C1AAAEC0');
INSERT INTO "outcomes" VALUES(2,4,'2','accuracy',0.0,1,'{"half":"second"}','{"good":"She said \"naïve\" 2","bad":"back\\slash"}',X'02525DD5893AFB10');
INSERT INTO "outcomes" VALUES(2,5,'2','margin',0.75,0,'{}','{}',X'0FBD5D35B305D122');
INSERT INTO "outcomes" VALUES(2,6,'3','accuracy',NULL,0,'{"half":"second"}','{"good":"She said \"naïve\" 3","bad":"back\\slash"}',X'753310DF02D83661');
INSERT INTO "outcomes" VALUES(2,7,'3','margin',1.25,0,'{}','{}',X'DC12FEAE17124B33');
INSERT INTO "outcomes" VALUES(3,0,'0','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 0","bad":"back\\slash"}',X'5329105F847F3549');
INSERT INTO "outcomes" VALUES(3,1,'0','margin',-0.25,0,'{}','{}',X'3C1F6A984707FC53');
INSERT INTO "outcomes" VALUES(3,2,'1','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 1","bad":"back\\slash"}',X'B0A5743B03540F36');
INSERT INTO "outcomes" VALUES(3,3,'1','margin',0.25,0,'{}','{}',X'B1B3DD77C1AAAEC0');
INSERT INTO "outcomes" VALUES(3,4,'2','accuracy',0.0,1,'{"half":"second"}','{"good":"She said \"naïve\" 2","bad":"back\\slash"}',X'02525DD5893AFB10');
INSERT INTO "outcomes" VALUES(3,5,'2','margin',0.75,0,'{}','{}',X'0FBD5D35B305D122');
INSERT INTO "outcomes" VALUES(3,6,'3','accuracy',NULL,0,'{"half":"second"}','{"good":"She said \"naïve\" 3","bad":"back\\slash"}',X'753310DF02D83661');
INSERT INTO "outcomes" VALUES(3,7,'3','margin',1.25,0,'{}','{}',X'DC12FEAE17124B33');
INSERT INTO "outcomes" VALUES(5,0,'0','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 0","bad":"back\\slash"}',X'5329105F847F3549');
INSERT INTO "outcomes" VALUES(5,1,'0','margin',-0.25,0,'{}','{}',X'3C1F6A984707FC53');
INSERT INTO "outcomes" VALUES(5,2,'1','accuracy',1.0,1,'{"half":"first"}','{"good":"She said \"naïve\" 1","bad":"back\\slash"}',X'B0A5743B03540F36');
INSERT INTO "outcomes" VALUES(5,3,'1','margin',0.25,0,'{}','{}',X'B1B3DD77C1AAAEC0');
INSERT INTO "outcomes" VALUES(5,4,'2','accuracy',0.0,1,'{"half":"second"}','{"good":"She said \"naïve\" 2","bad":"back\\slash"}',X'02525DD5893AFB10');
INSERT INTO "outcomes" VALUES(5,5,'2','margin',0.75,0,'{}','{}',X'0FBD5D35B305D122');
INSERT INTO "outcomes" VALUES(5,6,'3','accuracy',NULL,0,'{"half":"second"}','{"good":"She said \"naïve\" 3","bad":"back\\slash"}',X'753310DF02D83661');
INSERT INTO "outcomes" VALUES(5,7,'3','margin',1.25,0,'{}','{}',X'DC12FEAE17124B33');
CREATE TABLE results (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    suite TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, signature TEXT NOT NULL, n INTEGER NOT NULL,
    estimates TEXT NOT NULL, warnings TEXT NOT NULL, descriptions TEXT NOT NULL, meta TEXT NOT NULL, checks TEXT,
    summary TEXT, outcomes INTEGER, chain BLOB, seal BLOB, summary_seal BLOB);
INSERT INTO "results" VALUES(1,1,'reflexives','pairs','complete','wug:0.4.0|suite:reflexives@1f3a|model:causal/org/pythia@aaa,float32|endpoint:http://host:80/v1|unit:bits|boundary:yes',4,'[{"check":"accuracy","group":"all","value":1.0,"n":3,"low":0.4385029682449546,"high":1.0,"method":"wilson"},{"check":"accuracy","group":"half=first","value":1.0,"n":2,"low":0.34238022750665315,"high":1.0,"method":"wilson"},{"check":"accuracy","group":"half=second","value":1.0,"n":1,"low":0.20654931437723745,"high":1.0,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}]','[]','{"accuracy":"the good one wins"}','{"circuit":"Agreement"}','[{"name":"accuracy","unit":"share","better":"higher","headline":true,"meaning":"the good one wins"},{"name":"margin","unit":"bits","better":"higher","headline":false,"meaning":""}]','{"estimates":[{"check":"accuracy","group":"all","value":1.0,"n":3,"low":0.4385029682449546,"high":1.0,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}],"checks":[["accuracy","share","higher",true],["margin","bits","higher",false]],"circuit":"Agreement"}',8,X'C548476B81D93B5D',X'08BCB211B17C25EE',X'0A8AD3511891062B');
INSERT INTO "results" VALUES(2,2,'reflexives','pairs','complete','wug:0.4.0|suite:reflexives@1f3a|model:causal/org/pythia@bbb,float32|endpoint:http://host:80/v1|unit:bits|boundary:yes',4,'[{"check":"accuracy","group":"all","value":0.3333333333333333,"n":3,"low":0.06149194472039632,"high":0.7923403991979523,"method":"wilson"},{"check":"accuracy","group":"half=first","value":0.5,"n":2,"low":0.09453120573423074,"high":0.9054687942657693,"method":"wilson"},{"check":"accuracy","group":"half=second","value":0.0,"n":1,"low":0.0,"high":0.7934506856227626,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}]','[]','{"accuracy":"the good one wins"}','{"circuit":"Agreement"}','[{"name":"accuracy","unit":"share","better":"higher","headline":true,"meaning":"the good one wins"},{"name":"margin","unit":"bits","better":"higher","headline":false,"meaning":""}]','{"estimates":[{"check":"accuracy","group":"all","value":0.3333333333333333,"n":3,"low":0.06149194472039632,"high":0.7923403991979523,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}],"checks":[["accuracy","share","higher",true],["margin","bits","higher",false]],"circuit":"Agreement"}',8,X'64207EB2D1D89BCF',X'18F19EFF966DFA79',X'6708D987013273EA');
INSERT INTO "results" VALUES(3,3,'reflexives','pairs','complete','wug:0.4.0|suite:reflexives@1f3a|model:masked/bert@ccc,float32|endpoint:http://host:80/v1|unit:bits|boundary:yes',4,'[{"check":"accuracy","group":"all","value":0.6666666666666666,"n":3,"low":0.20765960080204782,"high":0.9385080552796038,"method":"wilson"},{"check":"accuracy","group":"half=first","value":1.0,"n":2,"low":0.34238022750665315,"high":1.0,"method":"wilson"},{"check":"accuracy","group":"half=second","value":0.0,"n":1,"low":0.0,"high":0.7934506856227626,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}]','[]','{"accuracy":"the good one wins"}','{"circuit":"Agreement"}','[{"name":"accuracy","unit":"share","better":"higher","headline":true,"meaning":"the good one wins"},{"name":"margin","unit":"bits","better":"higher","headline":false,"meaning":""}]','{"estimates":[{"check":"accuracy","group":"all","value":0.6666666666666666,"n":3,"low":0.20765960080204782,"high":0.9385080552796038,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}],"checks":[["accuracy","share","higher",true],["margin","bits","higher",false]],"circuit":"Agreement"}',8,X'8D7390F743D7DD81',X'A240BDB6B805F257',X'BC91080E9A6705F8');
INSERT INTO "results" VALUES(4,3,'npi','pairs','failed','wug:0.4.0|suite:npi@1f3a|model:masked/bert@ccc,float32|endpoint:http://host:80/v1',0,'[]','["failed: no answer"]','{"accuracy":"the good one wins"}','{"circuit":"Agreement"}','[{"name":"accuracy","unit":"share","better":"higher","headline":true,"meaning":"the good one wins"},{"name":"margin","unit":"bits","better":"higher","headline":false,"meaning":""}]','{"estimates":[],"checks":[],"circuit":"Agreement"}',0,X'E4A6A0577479B2B4',X'8D05E7934DAF8DCD',X'047BEAF706D2FEE9');
INSERT INTO "results" VALUES(5,4,'reflexives','pairs','complete','wug:0.4.0|suite:reflexives@1f3a|model:published/x@ddd,float32|endpoint:http://host:80/v1',4,'[{"check":"accuracy","group":"all","value":0.6666666666666666,"n":3,"low":0.20765960080204782,"high":0.9385080552796038,"method":"wilson"},{"check":"accuracy","group":"half=first","value":1.0,"n":2,"low":0.34238022750665315,"high":1.0,"method":"wilson"},{"check":"accuracy","group":"half=second","value":0.0,"n":1,"low":0.0,"high":0.7934506856227626,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}]','[]','{"accuracy":"the good one wins"}','{"circuit":"Agreement"}','[{"name":"accuracy","unit":"share","better":"higher","headline":true,"meaning":"the good one wins"},{"name":"margin","unit":"bits","better":"higher","headline":false,"meaning":""}]','{"estimates":[{"check":"accuracy","group":"all","value":0.6666666666666666,"n":3,"low":0.20765960080204782,"high":0.9385080552796038,"method":"wilson"},{"check":"margin","group":"all","value":0.5,"n":4,"low":-0.5271301283802603,"high":1.5271301283802603,"method":"t"}],"checks":[["accuracy","share","higher",true],["margin","bits","higher",false]],"circuit":"Agreement"}',8,X'8D7390F743D7DD81',X'48791FD2E278360D',X'D98D837F2343214E');
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
    command TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, version TEXT NOT NULL, host TEXT, pid INTEGER,
    kept INTEGER, seal BLOB);
INSERT INTO "runs" VALUES(1,'key causal/org/pythia@aaa','complete','causal/org/pythia@aaa','wug run reflexives --model causal:org/pythia@step1000 --model ''causal:org/pythia@step20?dtype=float32'' --model=masked:bert','2026-03-01T12:00:00+00:00','2026-03-01T12:00:00+00:00','0.1.0','elsewhere',4711,1,X'06A20DFDC5FB0680');
INSERT INTO "runs" VALUES(2,'key causal/org/pythia@bbb','complete','causal/org/pythia@bbb','wug run reflexives --model causal:org/pythia@step1000 --model ''causal:org/pythia@step20?dtype=float32'' --model=masked:bert','2026-03-01T12:00:00+00:00','2026-03-01T12:00:00+00:00','0.1.0','elsewhere',4711,1,X'870E51F0E937DEAB');
INSERT INTO "runs" VALUES(3,'key masked/bert@ccc','complete','masked/bert@ccc','wug run reflexives --model causal:org/pythia@step1000 --model ''causal:org/pythia@step20?dtype=float32'' --model=masked:bert','2026-03-01T12:00:00+00:00','2026-03-01T12:00:00+00:00','0.1.0','elsewhere',4711,2,X'1DBF6C4077F17779');
INSERT INTO "runs" VALUES(4,'key made','interrupted','published/x@ddd','wug score pairs ''unclosed','2026-03-01T12:00:00+00:00','2026-03-01T12:00:00+00:00','0.1.0','elsewhere',4711,1,X'EF693436B5DD865A');
CREATE INDEX results_by_run ON results (run);
CREATE INDEX outcomes_by_check ON outcomes (result, measure, value);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',4);
INSERT INTO "sqlite_sequence" VALUES('results',5);
COMMIT;
