"""Numbers of ODE's Python bindings: parameters of joints, flags of contacts, modes of motors."""

Infinity = float('inf')
environment = None

(paramLoStop, paramHiStop, paramVel, paramFMax, paramFudgeFactor, paramBounce, paramCFM,
 paramStopERP, paramStopCFM, paramSuspensionERP, paramSuspensionCFM) = range(11)
(ParamLoStop, ParamHiStop, ParamVel, ParamFMax, ParamFudgeFactor, ParamBounce, ParamCFM,
 ParamStopERP, ParamStopCFM, ParamSuspensionERP, ParamSuspensionCFM) = range(11)
ParamGroup = 256
(ParamLoStop2, ParamHiStop2, ParamVel2, ParamFMax2, ParamFudgeFactor2, ParamBounce2, ParamCFM2,
 ParamStopERP2, ParamStopCFM2, ParamSuspensionERP2, ParamSuspensionCFM2) = range(256, 267)
(ParamLoStop3, ParamHiStop3, ParamVel3, ParamFMax3, ParamFudgeFactor3, ParamBounce3, ParamCFM3,
 ParamStopERP3, ParamStopCFM3, ParamSuspensionERP3, ParamSuspensionCFM3) = range(512, 523)

ContactMu2 = 0x001
ContactFDir1 = 0x002
ContactBounce = 0x004
ContactSoftERP = 0x008
ContactSoftCFM = 0x010
ContactMotion1 = 0x020
ContactMotion2 = 0x040
ContactSlip1 = 0x080
ContactSlip2 = 0x100
ContactApprox0 = 0x0000
ContactApprox1_1 = 0x1000
ContactApprox1_2 = 0x2000
ContactApprox1 = 0x3000

AMotorUser, AMotorEuler = 0, 1
